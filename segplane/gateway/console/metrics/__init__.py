"""Metrics of a dataset: which there are, and one of them over time, grouped by attributes."""
