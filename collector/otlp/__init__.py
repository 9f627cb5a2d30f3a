"""Exports of OTLP: decoding, validation, and partial success."""
