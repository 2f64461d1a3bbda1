"""HOT LOOPS: the only room that imports numba; compiled on first use and cached."""
