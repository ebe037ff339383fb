"""StatefulSets get their pods in order."""
