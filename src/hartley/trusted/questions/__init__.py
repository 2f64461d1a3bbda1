"""SQL text to a resolved question, or a refusal that points at the place."""
