"""Pages for people: objects, their history and the load of the server, below ``/ui/``."""
