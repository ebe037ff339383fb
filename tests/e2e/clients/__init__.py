"""Stock clients, an adapter each, and the one scenario that all of them go through."""
