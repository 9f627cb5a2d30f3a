"""The logs page without its requests: addresses, queries as texts, and their results as values."""
