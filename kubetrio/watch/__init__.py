"""The watch hub: committed events to cursors, in revision order."""
