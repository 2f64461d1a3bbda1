"""Figures of paper A: Farokhi, Deterministic Privacy-Preserving Policies (2019)."""
