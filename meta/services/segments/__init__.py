"""Calls about single segments: those whose facts are not known yet."""
