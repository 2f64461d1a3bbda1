"""The agent as a service: accounts, HTTP, web console."""
