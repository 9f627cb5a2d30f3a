"""The field's words, everywhere: docs/glossary.md has the former ones, nothing else uses them."""

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
FORMER = re.compile(
    r"EventIdentit|event_identit|DayIdentities|IdentityWindow|identity_(?:rule|runs|pages|column)"
    r"|staged_identities|IDENTITIES_REQUIRED|EVENTS_CLAIMED|event_repeats|dataset_repeats"
    r"|[Nn]onconforming|NONCONFORMING|each event once"
)
SUFFIXES = {".py", ".proto", ".md"}
# Records stay as they are: history, decisions, migrations, names in files of builds before 0.3.0.
KEPT = (
    *("CHANGELOG.md", "docs/adr/", "docs/glossary.md", "docs/releases/", "meta/migrations/"),
    *(
        "segments/parquet/footer.py",
        "segments/typed/conformity.py",
        "segplane/recovery/quarantine.py",
    ),
    *("tests/releases/", "tests/style/test_former_words.py"),
)
FOLDERS = (
    *("collector", "dataplane", "docs", "janitor", "kql", "merge_worker", "meta", "nursery"),
    *("protos", "pyspark_segplane", "segments", "segplane", "tests"),
)


def _texts() -> Iterator[tuple[str, str]]:
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            name = str(path.relative_to(ROOT))
            if path.suffix in SUFFIXES and not name.startswith(KEPT):
                yield name, path.read_text()


def test_no_former_word_is_left() -> None:
    used = {name: sorted(set(FORMER.findall(text))) for name, text in _texts()}

    assert len(used) > 1000
    assert {name: words for name, words in used.items() if words} == {}
