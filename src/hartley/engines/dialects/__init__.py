"""One file per engine: what it can do, and how it adds exactly, divides, samples and stores."""
