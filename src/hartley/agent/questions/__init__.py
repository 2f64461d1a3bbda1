"""From SQL text to resolved questions over codes, or to a refusal that points at the place."""
