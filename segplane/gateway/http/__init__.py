"""Parts that all routes of the gateway share: connections, callers, refusals, metrics."""
