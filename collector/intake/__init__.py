"""Admission and validation of one export, for every protocol."""
