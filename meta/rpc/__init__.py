"""The path of a call through the server, one module a concern; `pipeline` composes them."""
