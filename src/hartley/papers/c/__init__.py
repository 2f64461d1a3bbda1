"""Figures of paper C: Farokhi and Ding, Non-Stochastic Brute-Force Guessing (2021)."""
