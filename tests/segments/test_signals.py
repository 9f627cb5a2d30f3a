"""The table of signals agrees with the formats, and the guide for adding one is complete."""

import io
import re
import tokenize
from pathlib import Path

import pytest

from meta.v1 import common_pb2, ingest_token_pb2
from segments.otlp.official import OFFICIAL_CLASSES
from segments.signals import SIGNALS, TRAITS, Signal
from segments.v1 import combined_signals_pb2 as pb

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs/contributing/adding-a-signal.md"
SOURCES = (
    "benchmarks",
    "collector",
    "janitor",
    "merge_worker",
    "meta",
    "nursery",
    "protos",
    "segments",
    "segplane",
)


@pytest.mark.parametrize("signal", SIGNALS)
def test_a_signal_has_the_names_of_its_formats(signal: Signal) -> None:
    row = TRAITS[signal]
    tokens = pb.TokenSignals.DESCRIPTOR.fields_by_name

    assert tokens[signal].number == row.kind
    assert pb.SignalKind.Name(pb.SignalKind.ValueType(row.kind)) == f"SIGNAL_KIND_{signal.upper()}"
    assert f"{signal}_stamp" in tokens
    assert common_pb2.Signal.Value(f"SIGNAL_{signal.upper()}") == row.kind
    assert row.routing_field in ingest_token_pb2.IngestTokenRouting.DESCRIPTOR.fields_by_name


@pytest.mark.parametrize("signal", SIGNALS)
def test_a_signal_has_otlps_levels(signal: Signal) -> None:
    level = OFFICIAL_CLASSES[signal].DESCRIPTOR
    row = TRAITS[signal]

    assert level.name == row.messages[0]
    for container, message in zip(row.containers, row.messages[1:], strict=True):
        below = level.fields_by_name[container].message_type
        assert below is not None
        assert below.name == message
        level = below


def test_the_guide_lists_every_place_that_spells_out_the_signals() -> None:
    listed = _listed_paths()
    places = {path for path in _sources() if _spells_out_all_signals(path)}

    unlisted = {p for p in places if not any(p.is_relative_to(path) for path in listed)}
    stale = {path for path in listed if not path.exists()}

    assert not unlisted, "add them to docs/contributing/adding-a-signal.md, or use segments.signals"
    assert not stale, "docs/contributing/adding-a-signal.md lists paths that do not exist"


def test_a_place_that_spells_out_the_signals_is_found(tmp_path: Path) -> None:
    spelled, prose = tmp_path / "a.py", tmp_path / "b.py"
    spelled.write_text('ROUTES = ("logs_dataset_id", "traces", "metrics")\n')
    prose.write_text('"""Takes logs, traces and metrics."""\n# logs, traces, metrics\n')

    assert _spells_out_all_signals(spelled)
    assert not _spells_out_all_signals(prose)


def _listed_paths() -> set[Path]:
    rows = [line for line in GUIDE.read_text().splitlines() if line.startswith("| `")]
    return {ROOT / path for row in rows for path in re.findall("`([^`]+)`", row.split("|")[1])}


def _sources() -> list[Path]:
    return [
        path
        for root in SOURCES
        for path in (ROOT / root).rglob("*")
        if path.suffix in (".py", ".proto")
        and "_pb2" not in path.name
        # Its words are those of a process's own telemetry.
        and path != ROOT / "meta/telemetry.py"
    ]


def _spells_out_all_signals(path: Path) -> bool:
    text = path.read_text()
    # Most sources do not even have the words, and reading one as Python takes long.
    if not all(signal in text for signal in SIGNALS):
        return False
    if path.suffix == ".proto":
        words = set(re.findall(r"\w+", re.sub("//.*", "", text)))
    else:
        words = set(_words_of_code(text))
    return all(any(_names(word, signal) for word in words) for signal in SIGNALS)


def _words_of_code(text: str) -> list[str]:
    words: list[str] = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        is_docstring = token.string.startswith('"""') and token.line.strip().startswith('"""')
        if token.type == tokenize.NAME or (token.type == tokenize.STRING and not is_docstring):
            words += re.findall(r"\w+", token.string)
    return words


def _names(word: str, signal: Signal) -> bool:
    return re.fullmatch(rf"{signal}(_dataset_id|_stamp)?|_{signal}", word) is not None
