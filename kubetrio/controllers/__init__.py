"""The controllers that the server runs, and which of them a user wants."""
