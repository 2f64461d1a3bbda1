"""The engines that hold and query the data; only this package imports Ibis and DuckDB."""
