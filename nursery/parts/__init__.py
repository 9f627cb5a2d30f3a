"""Parts of a registration: gathered by tasks, carried unopened, stated in the request."""
