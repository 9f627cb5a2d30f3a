"""Sessions of the console: login, the encrypted cookie, renewal, logout."""
