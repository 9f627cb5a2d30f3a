"""Syntax of the language: tokens, the tree, its parsers, and hints for common slips."""
