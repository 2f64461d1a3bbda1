"""Who tries to learn more: attacks that an owner turns on an own release or agent."""
