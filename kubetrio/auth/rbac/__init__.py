"""Role-based access control."""
