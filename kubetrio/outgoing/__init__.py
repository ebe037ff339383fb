"""Calls to others over HTTP: webhooks, issuers of tokens."""
