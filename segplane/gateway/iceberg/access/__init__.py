"""Access of clients to the objects of a table."""
