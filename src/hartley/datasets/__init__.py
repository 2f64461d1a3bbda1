"""The data sets of the papers: loaders, and seeded generators of tables that resemble them."""
