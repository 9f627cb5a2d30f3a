"""Conversion between OTLP and columns."""
