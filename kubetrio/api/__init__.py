"""Requests without a web framework: one pipeline of ordered stages."""
