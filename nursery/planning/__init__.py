"""Planning of a cycle: pure functions of streams, backlog and limits."""
