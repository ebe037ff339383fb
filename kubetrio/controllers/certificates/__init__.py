"""Controllers of certificate signing requests."""
