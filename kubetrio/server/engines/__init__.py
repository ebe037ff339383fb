"""Storage engines: the table of them, and a module for each that opens its store."""
