"""Alerts and dashboards of an installation, from which the files in deploy/ are rendered."""
