"""Merges sorted segments into one, in bounded memory."""
