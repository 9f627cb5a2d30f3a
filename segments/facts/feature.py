"""A feature that states a fact of written segments, and the value in which all facts travel."""

from collections.abc import Collection, Iterable, Mapping
from typing import ClassVar, NewType, Protocol

from segments.v1.written_facts_pb2 import WrittenFacts

# A serialized WrittenFacts: carried as it is, and opened by features alone.
Facts = NewType("Facts", bytes)
NO_FACTS = Facts(b"")


class ExtraColumn(Protocol):
    """A column of a file beside those of the format."""

    @property
    def name(self) -> str:
        """Name in the file."""
        ...

    @property
    def field_id(self) -> int | None:
        """Field id; None in files of format 1."""
        ...

    @property
    def is_automatic(self) -> bool:
        """Whether no reader sees it by name."""
        ...


class FooterView(Protocol):
    """The parts of a footer that facts follow from."""

    @property
    def promoted(self) -> Iterable[ExtraColumn]:
        """Columns of the file beside those of the format."""
        ...

    @property
    def unusable(self) -> Collection[str]:
        """Names of automatic columns that do not stand for their attribute."""
        ...

    @property
    def entries(self) -> Mapping[str, object]:
        """Entries of features, as JSON values."""
        ...


class Feature:
    """One fact: the field of WrittenFacts that has it, and how it is stated and checked.

    `IS_IN_FOOTER`: the footer of a file proves the fact, whichever release and catalog the file is
    of. Another fact holds only for a file that this release has just written.
    """

    FIELD: ClassVar[str]
    IS_IN_FOOTER: ClassVar[bool] = False

    def read_entries(self, texts: Mapping[str, bytes]) -> Mapping[str, object]:  # noqa: ARG002
        """Read the entries that a footer has of it, as JSON; raises ValueError, TypeError."""
        return {}

    def state(self, footer: FooterView, facts: WrittenFacts) -> None:
        """Set the field for a file with this footer."""
        raise NotImplementedError

    def fault(self, facts: WrittenFacts, object_bytes: int) -> str:  # noqa: ARG002
        """Say why an object of a size cannot have the fact; "" = it can."""
        return ""
