"""Commands that run processes and show settings."""
