"""The in-process client: what a client does, without sockets."""
