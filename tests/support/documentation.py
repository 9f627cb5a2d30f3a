"""The fenced blocks of README and of docs/reading."""

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A block with a language, and its place among those of it on the page, from 0."""

    page: str
    language: str
    place: int
    text: str


def pages() -> list[str]:
    """Return the pages whose blocks people run."""
    reading = sorted((ROOT / "docs" / "reading").glob("*.md"))
    return ["README.md", *(str(path.relative_to(ROOT)) for path in reading)]


def blocks_of(page: str) -> list[Block]:
    """Return the blocks of a page that name a language, in their order."""
    places: Counter[str] = Counter()
    found: list[Block] = []
    for language, text in _BLOCK.findall((ROOT / page).read_text()):
        found.append(Block(page, language, places[language], text))
        places[language] += 1
    return found
