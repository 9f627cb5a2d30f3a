"""Facts of a written segment: one opaque value, and a module for each feature that opens it."""
