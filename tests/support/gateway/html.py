"""HTML of an answer: its elements, its text and its links."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser

from tests.support.gateway.server import Answer

_VOID = frozenset(["meta", "link", "input", "br", "img", "hr"])


@dataclass
class Element:
    """An element; its text includes that of elements within."""

    tag: str
    attributes: Mapping[str, str]
    pieces: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return " ".join("".join(self.pieces).split())


class HtmlPage(HTMLParser):
    """The elements of an answer, each of which is closed."""

    def __init__(self, answer: Answer) -> None:
        super().__init__()
        assert "text/html" in answer.headers["content-type"], answer.headers
        self.elements: list[Element] = []
        self._open: list[Element] = []
        self.feed(answer.body.decode())
        self.close()
        assert not self._open, [element.tag for element in self._open]

    @property
    def text(self) -> str:
        return " ".join(element.text for element in self.all("body"))

    def all(self, tag: str, **attributes: str) -> Sequence[Element]:
        """Return the elements of a tag with these attributes; `class_` stands for class."""
        wanted = {name.rstrip("_").replace("_", "-"): v for name, v in attributes.items()}
        return [
            element
            for element in self.elements
            if element.tag == tag and wanted.items() <= element.attributes.items()
        ]

    def link(self, text: str) -> str:
        """Return the path, without its first slash, of the first link with a text."""
        return next(e.attributes["href"] for e in self.all("a") if e.text == text).lstrip("/")

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Open an element."""
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.elements.append(element)
        if tag not in _VOID:
            self._open.append(element)

    def handle_endtag(self, tag: str) -> None:
        """Close the innermost element."""
        assert self._open.pop().tag == tag, tag

    def handle_data(self, data: str) -> None:
        """Add text to every open element."""
        for element in self._open:
            element.pieces.append(data)
