"""The counter of versions, versions by time, the database's clock and ages."""
