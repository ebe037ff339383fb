"""Controllers of EndpointSlices."""
