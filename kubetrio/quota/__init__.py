"""Use of resource quotas."""
