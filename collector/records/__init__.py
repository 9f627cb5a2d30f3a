"""JSON records, for programs without an OTLP library."""
