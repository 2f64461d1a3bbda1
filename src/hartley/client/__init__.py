"""A client of a service: the verbs of the agent over HTTP, with the standard library alone."""
