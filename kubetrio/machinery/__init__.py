"""Rules of API objects: values in, values out; no I/O, no knowledge of which kinds exist."""
