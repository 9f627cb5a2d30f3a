"""The gateway: an HTTP server through which query engines read datasets."""
