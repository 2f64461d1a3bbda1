"""The trusted agent that holds a private table and answers questions about it."""
