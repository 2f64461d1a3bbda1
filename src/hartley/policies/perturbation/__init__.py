"""Random perturbation of categories: matrices, draws, what they leak, what they let estimate."""
