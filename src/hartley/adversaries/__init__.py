"""Attacks that owners run on their own releases and agents, to see what can be learned."""
