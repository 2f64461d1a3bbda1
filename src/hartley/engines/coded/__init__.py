"""Integer-coded copies of tables, and the one gate through which statements reach them."""
