"""The one table of operators and functions, which parser, types and documentation read."""
