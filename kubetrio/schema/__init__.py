"""The type registry: kinds, versions, resources, and the documents derived from them."""
