"""Opening tables from files, data frames and databases, and preparing their columns."""
