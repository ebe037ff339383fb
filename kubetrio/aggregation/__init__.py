"""The aggregation layer: what other API servers serve."""
