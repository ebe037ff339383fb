"""Types of networking."""
