"""SQL text -> resolved questions over codes, or a refusal that points at the place."""
