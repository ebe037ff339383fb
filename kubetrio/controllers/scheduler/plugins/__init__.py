"""What a scheduler weighs: each module is one reason for a node or against it."""
