"""Integers to cells, to intervals, to what is shown."""
