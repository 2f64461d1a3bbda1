"""One module per result: its picture, its page and its lines in a terminal."""
