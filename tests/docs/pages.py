"""The documentation's pages, and the text in their backticks and links."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
_FENCE = re.compile(r"^( *)```.*?^\1```", re.MULTILINE | re.DOTALL)
_SPAN = re.compile(r"`([^`\n]+)`")
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_ITEM = re.compile(r"\s*([-*]|\d+\.)\s+")


@dataclass(frozen=True, slots=True)
class DocumentPage:
    """One Markdown file; `name` is its path below the repository's root."""

    name: str
    text: str

    @property
    def prose(self) -> str:
        """The text without code blocks."""
        return _FENCE.sub("", self.text)

    def paragraphs(self) -> list[str]:
        """The paragraphs and items of lists, each on one line; no headings and no tables."""
        paragraphs: list[str] = []
        is_open = False
        for line in self.prose.splitlines():
            text = line.strip()
            is_code = not is_open and line.startswith("    ") and not _ITEM.match(line)
            if not text or is_code or text.startswith(("#", "|")):
                is_open = False
            elif _ITEM.match(line) or not is_open:
                paragraphs.append(_ITEM.sub("", line, count=1).strip())
                is_open = True
            else:
                paragraphs[-1] += f" {text}"
        return paragraphs

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
