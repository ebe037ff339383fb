"""ReplicationControllers get their pods."""
