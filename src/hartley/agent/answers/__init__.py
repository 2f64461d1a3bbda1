"""Answers: from integer totals to cells, to intervals, to what is shown."""
