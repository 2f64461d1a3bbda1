"""The data of the papers: loaders, and seeded generators of tables that resemble them."""
