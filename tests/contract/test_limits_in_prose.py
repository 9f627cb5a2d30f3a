"""A bound in the text of docs/contract.md is a row of its table, or bounds something else."""

import re

from tests.support.meta.limits.documented import CONTRACT, documented

_BOUND = re.compile(
    r"(?:\S+ ){2}\(?(?:at most|up to|more than|fewer than|less than|below|above|1 to) \(?"
    r"(?:\d[\d,.^]*\d|\d)(?: ?[\w-]+)?",
    re.IGNORECASE,
)
# The row of the table that a phrase of the text is about.
ROWS = {
    "are case-sensitive, 1 to 255 characters": "characters of a name",
    "not, are at most 2^43 bytes": "bytes of a segment or baby segment",
    "is 100, more than 1,000 counts": "`limit` of a catalog list",
    "**Limits.** - At most 100,000 live": "live datasets",
    "schema has at most 1,000 columns": "`CreateSchema.columns`",
    "dataset has at most 100 sharding": "`SetShardingFields.fields`",
    "expression has at most 65,536 characters": "characters of a description or expression",
    "**SaveSegments** registers up to 1,000 complete": "`SaveSegments.segments`",
    "it `num_records` (at most 2^31-1": "events of a segment, records of a baby segment",
    "dataset. - At most 100,000 tokens": "ingest tokens",
    "(OperationsService) takes up to 1,000 such": "`RegisterMergedSegments.registrations`",
    "registrations with up to 1,000 segments": (
        "segments of all registrations of `RegisterMergedSegments`"
    ),
    "- If more than 10,000 streams": "removals since `since_seq`",
    "(`more_segments`, additive; at most 64 outputs": "outputs of `CompleteSegmentMergeTask`",
    "is 1,000, more than 10,000 counts": "`FindSegments.limit`",
    "missing ones, at most 1,000": "`GetSegmentsByIds.segment_ids`",
    "a range (at most 1,000": "offsets of `GetCommittedFlushes`",
    "by default, at most 10,000 or": "`ExplainMergePlan.limit`",
    "stream with more than 5,000 entries": (
        "entries, and tokens, of a stream that takes baby segments without stamps"
    ),
    "**GetUsage** returns up to 1,000 datasets": "`GetUsage.dataset_ids`",
    "`tasks_max` (16, up to 1,000": "`CreateRewriteJob.tasks_max`",
    "page has at most 1,000": "`ListUnmergedBabies.limit`",
    "changes (1,000; at most 5,000": "`ListDatasetChanges.limit`",
    "key order, up to 1,000 objects": "`CheckConsistency.objects`",
    "RepairCatalog takes up to 100 findings": "`RepairCatalog.repairs`",
    "a recount; at most 1,000 findings": (
        "findings of a kind among the rows, of `CheckConsistency`"
    ),
    "ReportObjectChecks takes up to 1,000 outcomes": "`ReportObjectChecks.checks`",
    "content (`PutTableObjects`, up to 1,000": "`PutTableObjects.objects`",
    "manifests and up to 16,384 manifests": "`PutTableSnapshot.manifest_digests`",
    "in which up to 100 snapshots": "`HandOutTable.versions`",
    "table has at most 10,000 snapshots": "snapshots of a dataset's table",
    "its window (1 to 30": "`DatasetSettings.deduplication.window_days`",
    "call names at most 250,000 deduplication": "deduplication keys of a registration",
    "keys in up to 8 parts": "parts of deduplication keys (`StageDeduplicationKeys`)",
    "group has at most 255 characters": "characters of a dataset's name with its group",
    "looks at up to 20,000 streams": "streams that `ListFreshness` looks at",
    "its links, at most 1,000 of": "links of a projection that gets a new text",
}
# Bounds of ages, of replies and of what the server does by itself; other tests show them.
NO_LIMITS = {
    "bytes, from at most 200 moved",
    "metadata names up to 10 tokens",
    "finite and above 0",
    "A reply above 3.5 MiB",
    "message has at most 1,200 bytes",
    "a routing at most 5 seconds",
    "default and at most 3,600",
    "pages of at most 3.5 MiB",
    "values of up to 32 entries",
    "always stays; up to 120 are",
    "is never below 5 minutes",
    "0 is below 1 MiB",
    "16 inputs, fewer than 8 if",
    "segment has at most 4 merges",
    "In total at most 5 times",
    "alone) and at most 3.5 MiB",
    "page has up to 1,000",
    "a client, at most 100 a",
    # Members of a context beyond these are kept, and not filtered by.
    "keys of more than 63 bytes",
    "texts of more than 256 bytes",
    # A page of a vacuum.
    "of datasets, at most 100",
    # Counts and searches of ExplainDataset.
    "of them, up to 1,000",
    "of tasks up to 10,000",
    "QUARANTINED counts at most 1,000 ranges",
    "MERGE_DEBT counts at most 50,000 small",
    "and judges at most 10,000 of",
}


def bounds_in_prose() -> set[str]:
    text = CONTRACT.read_text()
    before, _, rest = text.partition("\n## Limits\n")
    after = rest.partition("\n## ")[2].partition("\n## Reasons\n")[0]
    return {match[0] for match in _BOUND.finditer(" ".join(f"{before}\n{after}".split()))}


def test_every_bound_in_the_text_is_a_row_or_bounds_something_else() -> None:
    assert bounds_in_prose() == {*ROWS, *NO_LIMITS}, "add a row to the table of limits, and here"


def test_every_row_that_the_text_repeats_has_its_number() -> None:
    limits = documented()

    for phrase, name in ROWS.items():
        numbers = re.findall(r"\d[\d,.^-]*\d|\d", phrase)
        values = [eval_number(number) for number in numbers]
        # A page of unmerged babies has a default beside its limit.
        assert limits[name].most in values or name == "`ListUnmergedBabies.limit`", phrase


def eval_number(text: str) -> int:
    power = re.fullmatch(r"2\^(\d+)(-1)?", text)
    if power:
        return int(2 ** int(power[1])) - (1 if power[2] else 0)
    return int(text.replace(",", ""))
