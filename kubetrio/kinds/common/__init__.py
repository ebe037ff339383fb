"""What kinds of several groups are made of."""
