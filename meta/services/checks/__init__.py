"""Calls that compare rows with objects and with one another, and repair."""
