"""The stack on one machine: its processes, embedded Postgres, settings, preflight."""
