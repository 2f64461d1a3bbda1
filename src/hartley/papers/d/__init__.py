"""Figures of paper D: Farokhi, Non-Stochastic Hypothesis Testing for Privacy (2021)."""
