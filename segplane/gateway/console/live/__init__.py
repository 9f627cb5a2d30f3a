"""Live views: the records of each newly visible version, sent to the browser as events."""
