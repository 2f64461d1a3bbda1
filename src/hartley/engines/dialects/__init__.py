"""One file an engine: what it can do, how it adds exactly, divides, samples and stores."""
