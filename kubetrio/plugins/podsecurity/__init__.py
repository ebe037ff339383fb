"""Pod Security Admission (KEP-2579)."""
