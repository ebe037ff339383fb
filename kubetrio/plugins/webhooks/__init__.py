"""Admission webhooks: who is asked, how, and what comes of the answer."""
