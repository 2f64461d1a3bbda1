"""Privacy against distortion: the least that a perturbed key tells, with a proof."""
