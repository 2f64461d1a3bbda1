"""Figures of paper E: Rebollo-Monedero, Forne and Domingo-Ferrer, t-Closeness-Like (2010)."""
