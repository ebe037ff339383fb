"""ReplicaSets get their pods."""
