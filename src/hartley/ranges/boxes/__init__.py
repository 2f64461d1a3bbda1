"""Continuous ranges: boxes, queries over them, certified enclosures and volumes."""
