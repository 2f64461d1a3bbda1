"""Distinct pairs, classes and exact totals, counted where the rows are."""
