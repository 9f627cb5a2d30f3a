"""docs/tenants.md says of each bound for all callers what part a tenant has."""

import re

from tests.docs.pages import ROOT

DOCS = ROOT / "docs"
SETTING = re.compile(r"^\| `([A-Z_]+)`", re.MULTILINE)
IS_BOUND = re.compile(
    r"_(MAX|CONCURRENT|POOL|THREADS|PROCESSES|PER_MONTH|SCANNED_BYTES|QUERY_CALLER_\w+)$"
)
# Bounds that no caller of a tenant can use up for others, and the reason.
OTHERS = {
    "SEGPLANE_SPARK_CORES_MAX": "of the operator's workers",
    "META_PROCESSES": "processes that share one port",
    "META_DATASETS_PER_CREATOR_MAX": "of one creator",
    "META_PIN_AGE_SECS_MAX": "of one pin",
    "META_MERGE_FILES_MAX": "of one day of a dataset",
    "META_DELETION_PERCENT_MAX": "of one dataset",
    "COLLECTOR_PROCESSES": "processes that share one port",
    "COLLECTOR_EXPORT_SIZE_BYTES_MAX": "of one export",
    "COLLECTOR_ATTRIBUTES_MAX": "of one record",
    "COLLECTOR_ATTRIBUTE_NAME_BYTES_MAX": "of one record",
    "COLLECTOR_ATTRIBUTE_VALUE_BYTES_MAX": "of one record",
    "NURSERY_BATCH_BYTES_MAX": "of the operator's workers",
    "NURSERY_BATCH_BABIES_MAX": "of the operator's workers",
    "NURSERY_DECODE_BYTES_MAX": "of the operator's workers",
    "NURSERY_TASK_BYTES_MAX": "of the operator's workers",
    "MERGE_WORKER_BUFFER_BYTES_MAX": "of the operator's workers",
    "GATEWAY_SEGMENTS_MAX": "what is kept is displaced, and nobody is refused",
    "GATEWAY_QUERY_SCANNED_BYTES": "of one query",
}


def test_every_setting_that_bounds_all_callers_has_a_row_of_shares() -> None:
    settings = {
        s for s in SETTING.findall((DOCS / "settings.md").read_text()) if IS_BOUND.search(s)
    }
    section = (DOCS / "tenants.md").read_text().partition("\n## Shares\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| .+ \| (.+) \| .+ \| .+ \|$", section, re.MULTILINE)[1:]
    shared = {name for cell in rows for name in re.findall(r"`([A-Z_]+)`", cell)}

    assert len(rows) >= 15
    assert shared & OTHERS.keys() == set()
    assert settings - OTHERS.keys() == shared
    assert OTHERS.keys() <= settings
