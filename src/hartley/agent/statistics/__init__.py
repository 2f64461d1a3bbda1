"""Resolved questions -> exact integers, computed where the coded copy lies."""
