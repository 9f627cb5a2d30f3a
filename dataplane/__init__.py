"""Rules that workers and readers share, between them and meta."""
