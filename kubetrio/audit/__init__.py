"""The audit log: which requests are noted, what is noted, and where it goes.

Nothing here knows a request: `kubetrio.api.audit.auditing` makes events of those.

Source: docs "Auditing"; API group audit.k8s.io/v1.
"""
