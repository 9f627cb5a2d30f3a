"""YAML of mappings, lists and scalars, in blocks: what compose and Prometheus read."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias, Union

Yaml: TypeAlias = Union[str, int, bool, "Sequence[Yaml]", "Mapping[str, Yaml]"]
# Other texts, and those that YAML takes for numbers, truth values or nothing, are quoted as JSON.
_PLAIN = re.compile(r"(?!(?:true|false|yes|no|on|off|null|y|n)$)[A-Za-z/.][\w./@+:-]*(?<!:)", re.I)
_FLOW_CHARACTERS_MAX = 80


def yaml_text(value: Mapping[str, Yaml]) -> str:
    """Return a document. A short list of scalars is on one line."""
    return "\n".join(_lines(value, "")) + "\n"


def _lines(value: Yaml, indent: str) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _entry(f"{indent}{_scalar(key)}:", item, f"{indent}  ")
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for item in value:
            # The first line of an item stands behind its hyphen.
            first, *others = _lines(item, f"{indent}  ")
            yield f"{indent}- {first.strip()}"
            yield from others
    else:
        yield f"{indent}{_scalar(value)}"


def _entry(head: str, item: Yaml, indent: str) -> Iterator[str]:
    if isinstance(item, str | int):
        yield from _text_entry(head, item, indent)
    elif (flow := _flow(item)) is not None:
        yield f"{head} {flow}"
    else:
        yield head
        yield from _lines(item, indent)


def _text_entry(head: str, item: str | int, indent: str) -> Iterator[str]:
    if isinstance(item, str) and "\n" in item:
        yield f"{head} |"
        yield from (f"{indent}{line}".rstrip() for line in item.rstrip("\n").split("\n"))
    else:
        yield f"{head} {_scalar(item)}"


def _flow(item: Yaml) -> str | None:
    """Return an empty value or a short list of scalars on one line; None if it needs more."""
    if isinstance(item, Mapping):
        return None if item else "{}"
    assert isinstance(item, Sequence)
    if not all(isinstance(each, str | int) and "\n" not in str(each) for each in item):
        return None
    text = f"[{', '.join(_scalar(each, is_flow=True) for each in item)}]"
    return text if len(text) <= _FLOW_CHARACTERS_MAX else None


def _scalar(value: Yaml, *, is_flow: bool = False) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str) and _PLAIN.fullmatch(value) and not (is_flow and ":" in value):
        return value
    return json.dumps(value)
