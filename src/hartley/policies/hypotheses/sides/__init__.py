"""On which side of a hypothesis a record lies: formulas over the indices of its columns."""
