"""Commands for credentials and the audit log."""
