"""Files of a dataset: listed, opened, and skipped by their indexes."""
