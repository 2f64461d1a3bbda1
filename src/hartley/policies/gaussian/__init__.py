"""Gaussian keys: the least that a perturbed one tells, with a proof, and the rule that does it."""
