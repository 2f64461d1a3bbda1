"""Figures of paper B: Farokhi, Noiseless Privacy."""
