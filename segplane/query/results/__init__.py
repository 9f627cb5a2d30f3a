"""Results: the form of every type in every format."""
