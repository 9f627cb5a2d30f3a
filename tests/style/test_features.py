"""A feature's facts are named in few files outside its own.

A fact of a written segment or of a registration travels unopened (docs/architecture.md). This test
counts the files that name it all the same: identifiers and keys of code, not comments, docstrings
or messages.
"""

import ast
import io
import re
import tokenize
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = (
    *("meta", "segments", "kql", "dataplane", "collector", "nursery", "merge_worker", "janitor"),
    *("segplane", "pyspark_segplane"),
)
EXCEPT = ("meta/v1/", "segments/v1/", "meta/migrations/versions/")


@dataclass(frozen=True)
class Feature:
    """Names of a feature's facts, its own files, and the most other files that may name them."""

    name: str
    names: str
    home: str
    files_max: int = 12


FEATURES = [
    Feature(
        "quarantined records",
        r"\bquarantined\b",
        r"nursery/parts/|meta/store/registration/quarantined_ranges|/quarantine\.py$",
    ),
    # Its settings, and the column that a footer names, are not facts of this kind.
    Feature(
        "deduplication",
        r"EventClaims|\bDeduplicationKeys\b|\bDayKeys\b|TaskEvents",
        r"nursery/parts/|/deduplication",
    ),
    Feature(
        "automatic columns",
        r"automatic_field_ids|usable_ids|without_ids|UsableColumns|\bunusable\b",
        r"segments/facts/automatic_columns|segments/parquet/columns/automatic",
    ),
    Feature("token index", r"\btoken_index\b|TokenIndex", r"segments/facts/token_|token_index/"),
    Feature(
        "exact bounds", r"has_exact_bounds|ExactBounds|LAST_BYTES", r"segments/facts/exact_bounds"
    ),
    # Statements have a dataset's whole name from `shown_names`, and open no group for it.
    Feature(
        "groups",
        r"\bgroup_id\b|group_visibility|\bDatasetName\b|\bwhole_name\b|\ball_groups\b"
        r"|\bgroup_named\b|\bdataset_names\n\.\nparse\b",
        r"/groups\.py$|/shown_names|segments/dataset_names|iceberg/namespaces|http/datasets"
        # A name has its group, also in the bucket.
        r"|segments/noted_names|/recovery/(name_numbers|rebuilt_names|returned_names)|/tenant_policies|/repeated_moves",
    ),
    Feature(
        "names in the bucket",
        r"\bname_numbers\b|\bnoted_names\b|\bNotedName\b|\bnoted_number\b",
        r"/noted_names|/name_numbers|/name_notes|/rebuilt_names|/returned_names|/tenant_notes"
        r"|/returned_tenants|/rebuilt_tenants|/repeated_moves",
    ),
    # Loops that delete ask `held_datasets`, and know no lock.
    Feature(
        "locks",
        r"\bresource_locks\b|hold_ends_at|\bLockFacts\b|\block_notes\b|\blocked_through\b",
        r"/locks/|/locks\.py$|resources/lock_|resources/locked_",
    ),
    Feature(
        "live records",
        r"live_records|records_counted|\brecord_counts\b",
        r"/dataset_numbers|/record_counts|segments/stats",
    ),
    # A process notes its progress, and begins and ends its reports.
    Feature(
        "process reports",
        r"\bProcessReports?\b|\bSelfReport\b|\bReporter\b|\bReportedProcess\b",
        r"/status/|process_reports|self_report|dataplane/reporting",
    ),
    Feature("vacuums", r"\bvacuums?\b|\bVacuum", r"/vacuum"),
]


@pytest.mark.parametrize("feature", FEATURES, ids=lambda feature: feature.name)
def test_few_files_name_the_facts_of_a_feature(feature: Feature) -> None:
    named = [path for path, code in codes() if re.search(feature.names, code)]
    outside = [path for path in named if not re.search(feature.home, path)]

    assert len(outside) < len(named), "no file of its own names them"
    assert len(outside) <= feature.files_max, outside


@cache
def codes() -> tuple[tuple[str, str], ...]:
    """The code of each module of the product."""
    paths = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
    names = [(str(path.relative_to(ROOT)), path) for path in paths]
    return tuple((name, _code(path)) for name, path in names if not name.startswith(EXCEPT))


def _code(path: Path) -> str:
    """A module's tokens, without comments, docstrings and texts that have a blank."""
    text = path.read_text()
    documented = {
        node.lineno
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    return "\n".join(
        token.string
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type != tokenize.COMMENT
        and not (
            token.type == tokenize.STRING and (token.start[0] in documented or " " in token.string)
        )
    )
