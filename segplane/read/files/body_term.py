"""The condition that bodies have a text as a term, by token indexes and by the bodies."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow.compute as pc

from kql.functions.folding import folded_term_pattern
from segments.token_index.terms import searched_terms, term_hash
from segplane.read.files.files import DatasetFile
from segplane.read.files.term_lookup import files_with

COLUMN = "body"


def files_of(text: str, files: Sequence[DatasetFile]) -> tuple[DatasetFile, ...]:
    """Return the files, and row groups of them, that may have such bodies."""
    term = max(searched_terms(text), key=len, default="")
    return files_with((term_hash(COLUMN, term),) if term else (), files)


def condition(text: str) -> pc.Expression:
    """Return the condition of KQL's `body has text`."""
    pattern = folded_term_pattern(text, "has")
    return pc.match_substring_regex(pc.field(COLUMN), pattern)
