"""Resources as commands show them: note, labels, context and lock of every kind."""

import inspect
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from enum import Enum
from itertools import chain
from typing import Any

from segplane.cli.messages import MetaClient, resources_pb2
from segplane.cli.output import Answer, Fact, facts, message_dict

_LOCK = ("locked_at", "locked_by", "lock_reason", "lock_ends_at")


class Kind(Enum):
    """Kinds of resources, by the nouns of their commands."""

    DATASET = "datasets"
    GROUP = "groups"
    SCHEMA = "schemas"
    VIEW = "views"
    PROJECTION = "projections"
    INGEST_TOKEN = "tokens"

    @property
    def number(self) -> Any:
        """The number of the kind in messages."""
        return resources_pb2.ResourceKind.Value(f"RESOURCE_KIND_{self.name}")


NOUNS = frozenset(kind.value for kind in Kind)


def shown(function: Callable[..., Any], kind: Kind) -> Callable[..., Answer]:
    """Return the command that shows one item, with its note, labels, context and lock."""

    def run(*arguments: Any, **values: Any) -> Answer:
        answer: Answer = function(*arguments, **values)
        client = values.get("client") or arguments[0]
        resource = _resource_of(client, kind, answer.data)
        if resource is None:
            return answer
        data, text = answer.data, list(answer.text)
        if not isinstance(data, list):
            data = _plain(data) | _care(resource)
        return replace(answer, data=data, text=chain(text, _aligned(text, care_facts(resource))))

    run.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    run.__doc__, run.__name__ = function.__doc__, function.__name__
    return run


def care_facts(resource: "resources_pb2.Resource") -> Iterator[Fact]:
    """Yield what people and programs keep with a resource, as far as it has it."""
    texts = {
        "title": resource.title,
        "note": resource.note,
        "labels": labels(resource),
        "context": resource.context.rstrip("\n"),
        **{name.replace("_", " "): getattr(resource, name) for name in _LOCK},
    }
    return ((name, text) for name, text in texts.items() if text)


def labels(resource: "resources_pb2.Resource") -> str:
    """Return the labels of a resource as one text."""
    return ",".join(f"{key}={value}" for key, value in sorted(resource.labels.items()))


def _resource_of(client: MetaClient, kind: Kind, data: Any) -> "resources_pb2.Resource | None":
    """Return the resource of what a command has shown; None if this meta has none."""
    from meta.errors import Unimplemented

    if isinstance(data, list):
        data = data[0]
    id_ = data.get("id") if isinstance(data, Mapping) else getattr(data, "id", "")
    if not id_:
        return None
    try:
        ref = resources_pb2.ResourceRef(kind=kind.number, id=id_)
        return client.resources.GetResource(resources_pb2.GetResourceRequest(resource=ref)).resource
    except Unimplemented:
        return None


def _plain(data: Any) -> dict[str, Any]:
    return dict(data) if isinstance(data, Mapping) else message_dict(data)


def _care(resource: Any) -> dict[str, object]:
    """Return note, labels, context and lock for programs, and the version of all of it."""
    return {
        "note": resource.note if resource.HasField("note") else None,
        "labels": dict(resource.labels),
        "context": json.loads(resource.context) if resource.HasField("context") else None,
        "resource_version": resource.version,
        **{n: getattr(resource, n) for n in ("title", *_LOCK) if resource.HasField(n)},
    }


def _aligned(text: list[str], pairs: Iterable[Fact]) -> Iterator[str]:
    """Yield names and values in the columns of lines that precede them."""
    width = max((len(line.partition("  ")[0]) for line in text), default=0)
    return facts([(name.ljust(width), value) for name, value in pairs])
