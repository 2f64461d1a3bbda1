"""HOW TO RELEASE: policies, and how to find the best one."""
