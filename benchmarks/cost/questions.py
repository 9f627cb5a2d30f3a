"""The questions of `questions.toml`, each in three languages."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

DATASET = "shop"
PRINT_ONE = "print 1"


@dataclass(frozen=True, slots=True)
class Question:
    """One question for ClickHouse, for DuckDB, and in KQL."""

    name: str
    clickhouse: str
    duckdb: str
    kql: str


def read_questions(values: Mapping[str, str]) -> list[Question]:
    """Read all questions; `values` are a trace id and a user that the records have."""
    text = Path(__file__).with_name("questions.toml").read_text()
    for name, value in values.items():
        text = text.replace(f"{{{name}}}", value)
    return [Question(**question) for question in tomllib.loads(text)["question"]]
