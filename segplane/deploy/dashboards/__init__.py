"""Dashboards of Grafana: what they show, and their JSON by Grafana's SDK, which only this imports.

`python -m segplane.deploy.dashboards deploy/grafana` writes them, in the environment of
`requirements/dashboards.lock`. No wheel has this package.
"""
