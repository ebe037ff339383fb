"""Types of autoscaling."""
