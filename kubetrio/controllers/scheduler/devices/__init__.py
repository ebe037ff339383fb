"""Devices that pods claim: what there is of them, which fit, and which are given."""
