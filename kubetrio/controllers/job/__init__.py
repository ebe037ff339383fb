"""Jobs run pods to completion."""
