"""The page where a person writes a query: its request, its rows, places of errors, names."""
