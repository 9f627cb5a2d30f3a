"""The commands of `segplane`, one noun a module."""
