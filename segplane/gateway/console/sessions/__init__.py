"""Sessions of the console without state in the gateway: login, encrypted cookies, logout.

one-time code or access token -> login -> session cookie -> viewer of each request
"""
