"""The operator's side: the command line, everything in one command, and the embedded Postgres."""
