"""The controller that makes claims of devices from templates, and takes devices back."""
