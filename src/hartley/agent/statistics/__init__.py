"""From resolved questions to exact integers, computed by the engine with the coded copy."""
