"""Converts OTLP to columns and back."""
