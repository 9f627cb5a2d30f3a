"""The command line: commands, their connection and output, the demo."""
