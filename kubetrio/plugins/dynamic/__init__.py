"""What webhooks and policies share: objects as they see them, match conditions, patches."""
