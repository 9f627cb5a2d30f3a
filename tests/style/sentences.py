"""Sentences of prose, and those whose subject is a question word."""

import re

_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z`*])")
_QUESTION = re.compile(r"[*_\"'(]*(Who|Whose|What|Which|Whoever|Whatever)\b")


def sentences(text: str) -> list[str]:
    """Divide a paragraph, whose lines may be wrapped, into sentences."""
    return _END.split(" ".join(text.split()))


def opens_with_question(sentence: str) -> bool:
    """Whether a statement has a question word as its subject; a question itself may."""
    return bool(_QUESTION.match(sentence)) and not sentence.endswith("?")


def questions(text: str) -> list[str]:
    """List the sentences of a paragraph that open with a question word."""
    return [sentence for sentence in sentences(text) if opens_with_question(sentence)]
