"""The agent as a service: HTTP, accounts and a console."""
