"""Bytes to objects and back: JSON, YAML, protobuf, CBOR, framing and content negotiation."""
