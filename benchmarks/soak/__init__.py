"""The long run of a whole stack under a steady load; `make soak`."""
