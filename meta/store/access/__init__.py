"""Access tokens, audit log, denied calls, authors of catalog entries, the server's state."""
