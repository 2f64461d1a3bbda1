"""Policies that leave a hypothesis about somebody open."""
