"""API Priority and Fairness (KEP-1040): a pure core and one async gate."""
