"""Finite joint ranges: relations, partitions, classes, distributions, systems that move."""
