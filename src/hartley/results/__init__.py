"""WHAT COMES BACK: data only, the same for agent, service and client."""
