"""Calls about access tokens, the audit log and the server's state."""
