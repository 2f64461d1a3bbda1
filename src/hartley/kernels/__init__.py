"""HOT LOOPS, compiled: the only room that imports numba, and the only one written in Cython."""
