"""Objects that exist at start, and the reconcilers that keep them."""
