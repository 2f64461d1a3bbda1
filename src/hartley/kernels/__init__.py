"""HOT LOOPS, compiled by numba: the only room that imports it."""
