"""Rows of the table of routes, what requests ask for, and the descriptors of their RPCs."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor, MethodDescriptor

from meta.client import MetaClient
from segments.location import StoreLocation
from segplane.gateway.http.gateway_rights import GatewayRights
from segplane.gateway.http.refusals import NotAllowed
from segplane.gateway.management.json_messages import Json
from segplane.gateway.management.members import fields_of, is_map, member_of

VERSION = "expected_version"
# A filter by a member of the context: a parameter for each key.
CONTEXT = "context.KEY"
_PAGING = frozenset({"pagination", "limit", "after", "before_id", "after_id"})
_CURSORS = frozenset({"pagination", "after", "before_id", "after_id"})


@dataclass(frozen=True, slots=True)
class ManagementAsk:
    """Parts of a request, which ends at `deadline` of the monotonic clock."""

    # Parts of the path: the `name` or `id` of a resource, or a field of the request.
    values: Mapping[str, str]
    parameters: Mapping[str, Sequence[str]]
    body: object
    # The parts of the version in If-Match; () = any version.
    versions: Sequence[str]
    deadline: float
    # The default store as this process is set to use it; None = as meta says.
    store: StoreLocation | None = None
    rights: GatewayRights = field(default_factory=lambda: GatewayRights(_no_rights), repr=False)


def _no_rights() -> MetaClient:
    raise NotAllowed("the gateway lends no rights here")


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer; `version` is the ETag, and `status` 0 is that of the row."""

    content: Json
    version: str = ""
    status: int = 0


Run = Callable[[MetaClient, ManagementAsk], Reply]


@dataclass(frozen=True, slots=True)
class Row:
    """A method of a path and what answers it: an RPC, or a function of several calls.

    Of several rows with one method and path, those of GET are merged, POST runs each with the
    members that it takes, and PATCH runs the one that takes all of them.
    """

    method: str
    path: str
    # Such as catalog.GetSchema; the description of a row without one is `about`.
    rpc: str = ""
    run: Run | None = None
    about: str = ""
    # Members of the body, and parameters of the query, of a row without an RPC.
    members: tuple[str, ...] = ()
    parameters: tuple[str, ...] = ()
    # The schema of its answer in the OpenAPI document.
    answer: str = ""
    # The field of the request that the body is, and that of the reply that is the answer.
    body: str = ""
    shown: str = ""
    # A member of the reply that is not in the answer.
    hidden: str = ""
    kind: str = ""
    # The part of a version that is the RPC's expected_version.
    part: int = 0
    status: int = 200
    # The path whose GET answers after a change.
    then: str = ""
    # A caller without its own token has the gateway's rights.
    is_open: bool = False
    is_deprecated: bool = False
    # A DELETE whose members are in its body, such as a secret.
    has_body: bool = False

    @property
    def is_list(self) -> bool:
        """Whether the answer is a page of a list."""
        return self.rpc.partition(".")[2].startswith("List")

    def taken(self) -> Mapping[str, FieldDescriptor | None]:
        """Return the members of the body, or parameters of the query, with their fields."""
        return taken_by(self) if self.rpc else dict.fromkeys(self.members or self.parameters)

    def queried(self) -> Iterator[str]:
        """Yield the parameters of the query."""
        if self.method in ("GET", "DELETE") and not self.has_body:
            for name in self.taken():
                yield CONTEXT if name == "context_member" else name
        if self.is_list:
            if _CURSORS.intersection(method_of(self.rpc).input_type.fields_by_name):
                yield from ("limit", "after")
            yield from self.parameters

    def is_of_dataset(self) -> bool:
        """Whether the path names a dataset."""
        return self.path.startswith("/v1/datasets/{name}")


def method_of(rpc: str) -> MethodDescriptor:
    """Return the descriptor of an RPC such as catalog.GetSchema."""
    module, _, name = rpc.partition(".")
    service = f"{module.title().replace('_', '')}Service"
    descriptor: Any = import_module(f"meta.v1.{module}_pb2").DESCRIPTOR
    method: MethodDescriptor = descriptor.services_by_name[service].methods_by_name[name]
    return method


@cache
def taken_by(row: Row) -> Mapping[str, FieldDescriptor | None]:
    """Return the fields of an RPC's request that body or query fill, by their members."""
    fields = method_of(row.rpc).input_type.fields_by_name
    is_filled = {part[1:-1] for part in row.path.split("/") if part.startswith("{")}
    is_filled |= {VERSION, "resource", "kind"} | (_PAGING if row.is_list else set())
    if row.is_of_dataset():
        is_filled |= {"dataset_id", "dataset_name"}
    if {"id", "name"} & is_filled:
        is_filled |= {"id", "name"}
    taken: dict[str, FieldDescriptor | None] = {}
    for name, described in fields.items():
        if name == row.body:
            taken |= {member_of(each): each for each in fields_of(described.message_type)}
        elif name == "set_labels":
            taken["labels"] = described
        elif name not in is_filled and name != "remove_labels":
            taken["name" if name == "new_name" else member_of(described)] = described
    return taken


def list_of_page(reply: Descriptor) -> FieldDescriptor:
    """Return the field of a reply that has the items of a page."""
    (described,) = (
        each
        for each in fields_of(reply)
        if each.is_repeated and each.message_type is not None and not is_map(each)
    )
    return described
