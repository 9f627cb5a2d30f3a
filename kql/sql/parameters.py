"""Parameters of DuckDB's lambdas, under names that no column has.

DuckDB takes a column for a parameter of the same name in `l.a`, which fails, and in
`STRUCT_PACK(t := e)`, which silently gives the column's value.
"""

import re

_PARAMETERS = re.compile(r"LAMBDA ([a-z](?:, [a-z])*):")
# Texts in quotes, members of structs (`l.a`, `a := 1`), and single letters.
_LETTER = re.compile(r"'(?:[^']|'')*'|\.[a-z]\b|\b[a-z] :=|\b[a-z]\b")


def with_unique_parameters(pattern: str) -> str:
    """Return a pattern with another name for each parameter.

    >>> with_unique_parameters("LIST_TRANSFORM(<0>, LAMBDA e: STRUCT_PACK(e := e))")
    'LIST_TRANSFORM(<0>, LAMBDA "$lambda_e": STRUCT_PACK(e := "$lambda_e"))'
    """
    names = {name for names in _PARAMETERS.findall(pattern) for name in names.split(", ")}
    return _LETTER.sub(lambda m: f'"$lambda_{m[0]}"' if m[0] in names else m[0], pattern)
