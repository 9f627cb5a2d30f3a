"""The collector: accepts OTLP and writes baby segments."""
