"""Exact ranges of queries over a box: polynomials, their critical values, and what is enclosed."""
