"""WHAT EVERYBODY MAY KNOW of a table."""
