"""State of the installation: its processes, as they report themselves."""
