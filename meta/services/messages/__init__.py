"""Messages to values and back, for all services: checks, conversion, cursors, pages."""
