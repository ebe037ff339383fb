"""Types of admissionregistration."""
