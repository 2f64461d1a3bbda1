"""The routes of the service, each a thin layer over what an account can do."""
