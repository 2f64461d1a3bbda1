"""HOW MUCH A RELEASE TELLS: pure functions, a range in, a number out, one module a family."""
