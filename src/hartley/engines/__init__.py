"""WHERE THE DATA LIVES: the only room that imports Ibis and DuckDB."""
