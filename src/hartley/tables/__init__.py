"""WHAT IS READ, COUNTED, RELEASED AND WRITTEN: rows of files and databases; published tables."""
