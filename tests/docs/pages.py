"""The documentation's pages, and the text in their backticks and links."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
_FENCE = re.compile(r"^( *)```.*?^\1```", re.MULTILINE | re.DOTALL)
_SPAN = re.compile(r"`([^`\n]+)`")
_LINK = re.compile(r"\]\(([^)\s]+)\)")


@dataclass(frozen=True, slots=True)
class DocumentPage:
    """One Markdown file; `name` is its path below the repository's root."""

    name: str
    text: str

    @property
    def prose(self) -> str:
        """The text without code blocks."""
        return _FENCE.sub("", self.text)

    def spans(self) -> list[str]:
        """The contents of inline code."""
        return _SPAN.findall(self.prose)

    def links(self) -> list[str]:
        """The targets of links and pictures."""
        return _LINK.findall(self.prose)


def pages() -> Iterator[DocumentPage]:
    """Read README, CONTRIBUTING, CHANGELOG and everything below docs/."""
    for path in (*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))):
        yield DocumentPage(str(path.relative_to(ROOT)), path.read_text())
