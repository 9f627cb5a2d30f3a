"""The pool, statements below SQLAlchemy, arrays, key sets, dataset scope, timelines."""
