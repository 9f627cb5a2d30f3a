"""All of meta's SQL, one module per noun; functions of a transaction that never begin or commit."""
