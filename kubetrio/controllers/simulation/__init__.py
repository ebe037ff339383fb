"""Controllers of simulated nodes and their pods."""
