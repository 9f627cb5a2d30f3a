"""Rows of files: read, converted, and completed by fresh records."""
