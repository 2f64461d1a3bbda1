"""One transaction: the state before it, the rows it adds to the chain, and the databases."""
