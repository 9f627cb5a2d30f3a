"""Pages of the console: each takes a request and its viewer, and renders a template."""
