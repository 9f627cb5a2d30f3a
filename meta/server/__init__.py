"""The server: composition, start of the database, supervision of several processes."""
