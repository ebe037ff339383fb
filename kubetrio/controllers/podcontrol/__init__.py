"""What workload controllers have in common: hashes, pods of an owner, and revisions."""
