"""Authorization by a webhook."""
