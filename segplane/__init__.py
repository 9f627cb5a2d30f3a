"""Readers of datasets, KQL, queries and the gateway; the command line and the stack it runs."""
