"""Which authorizers a server has, as flags or a configuration file say."""
