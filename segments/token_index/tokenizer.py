"""Hashes of the terms and pairs of whole columns, by numpy: a few passes over their bytes."""

from __future__ import annotations

import re
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from segments.token_index.terms import (
    FOLDED,
    HEAD,
    KEY,
    LENGTH,
    MIDDLE,
    MIX,
    SALTS,
    SHORT,
    TAIL,
)

Bytes: TypeAlias = npt.NDArray[np.uint8]
Hashes: TypeAlias = npt.NDArray[np.uint64]
Places: TypeAlias = npt.NDArray[np.int64]

_SEPARATOR = "\n"
_QUOTE, _BACKSLASH, _COLON, _COMMA, _OPEN, _LIST, _END_OF_LIST, _NEWLINE = b'"\\:,{[]\n'
# A run's words of 8 bytes are read beyond its end.
_END = b"\n" + bytes(16)
# Escapes of characters that others write as they are.
_OTHER_FORM = re.compile(rb"(?<!\\)(?:\\\\)*\\(?:/|u(?!00[01]|007[fF]))")
_DIGITS, _LOWER = b"0123456789", bytes(range(ord("a"), ord("z") + 1))
_WORD_BYTES = 8
# The bit that tells the letters of a term from its digits.
_LETTER_BITS = 0x4040404040404040


def _table(accepted: bytes, shown: bytes) -> bytes:
    """Make a table for bytes.translate; other bytes become zero."""
    return bytes(shown[accepted.index(n)] if n in accepted else 0 for n in range(256))


_FOLD = _table(_DIGITS + _LOWER + _LOWER.upper(), _DIGITS + _LOWER + _LOWER)
_MASKS = np.array([2 ** (8 * n) - 1 for n in range(_WORD_BYTES + 1)], np.uint64)
# Letter bits of a run without digits, by its length.
_LETTERS = _MASKS & np.uint64(_LETTER_BITS)


class NoPlainJson(ValueError):
    """A text is not JSON in the form in which segments have it."""


def term_hashes(column: str, texts: pa.ChunkedArray[Any]) -> Hashes:
    """Return the hashes of the terms of texts, some of them repeated."""
    text = _joined(texts)
    if not text.isascii():
        for sign, letter in FOLDED:
            text = text.replace(sign, letter)
    folded = np.frombuffer(text.translate(_FOLD), np.uint8)
    is_term = folded != 0
    # The text ends with a separator, so runs end too.
    edges = np.flatnonzero(is_term[1:] != is_term[:-1]) + 1
    if is_term[0]:
        edges = np.concatenate([np.zeros(1, np.int64), edges])
    starts, ends = edges[0::2], edges[1::2]
    is_indexed = _are_indexed(folded, starts, ends)
    return _mixed(_of(SALTS[column] * KEY) + _hashes(folded, starts[is_indexed], ends[is_indexed]))


def pair_hashes(column: str, texts: pa.ChunkedArray[Any]) -> Hashes:
    """Return the hashes of the pairs in JSON objects, some repeated; raises NoPlainJson.

    A value follows its key, so both are found by the quotes and the characters beside them.
    """
    text = _joined(texts)
    raw = np.frombuffer(text, np.uint8)
    backslashes = np.flatnonzero(raw == _BACKSLASH)
    if len(backslashes) and _OTHER_FORM.search(text):
        raise NoPlainJson("a character has its own form")
    quotes = np.flatnonzero(raw == _QUOTE)
    if len(backslashes):
        quotes = quotes[~_is_escaped(quotes, backslashes)]
    ends = np.flatnonzero(raw == _NEWLINE)
    if np.any(np.searchsorted(quotes, ends) & 1):
        raise NoPlainJson("a text ends within quotes")
    opened, closed = quotes[0::2], quotes[1::2]
    is_value = _are_values(raw[opened - 1], raw[closed + 1])
    values = np.flatnonzero(is_value)
    keys = values - 1
    key_hashes = _mixed(_hashes(raw, opened[keys] + 1, closed[keys]) + _of(SALTS[column]))
    return _mixed(key_hashes * _of(KEY) + _hashes(raw, opened[values] + 1, closed[values]))


def _are_indexed(folded: Bytes, starts: Places, ends: Places) -> npt.NDArray[np.bool_]:
    """Return which runs are long or have no digit."""
    lengths = ends - starts
    short = np.flatnonzero(lengths <= SHORT)
    letters = _words(folded)[starts[short]] & _LETTERS[lengths[short]]
    is_indexed = np.ones(len(starts), np.bool_)
    is_indexed[short] = letters == _LETTERS[lengths[short]]
    return is_indexed


def _are_values(before: Bytes, behind: Bytes) -> npt.NDArray[np.bool_]:
    """Return which strings are values of keys, by the characters beside them."""
    is_value: npt.NDArray[np.bool_] = before == _COLON
    is_key = ((before == _OPEN) | (before == _COMMA)) & (behind == _COLON)
    is_item = ((before == _LIST) | (before == _COMMA)) & (
        (behind == _END_OF_LIST) | (behind == _COMMA)
    )
    if not np.all(is_value | is_key | is_item):
        raise NoPlainJson("a string is neither a key nor a value nor in a list")
    return is_value


def _is_escaped(places: Places, backslashes: Places) -> npt.NDArray[np.bool_]:
    """Return which places have an odd number of backslashes directly before them."""
    is_first = np.diff(backslashes, prepend=-2) != 1
    first = backslashes[is_first][np.cumsum(is_first) - 1]
    number = np.searchsorted(backslashes, places) - 1
    row_number = np.maximum(number, 0)
    is_beside = (number >= 0) & (backslashes[row_number] == places - 1)
    odd: npt.NDArray[np.bool_] = np.where(is_beside, places - first[row_number], 0) % 2 == 1
    return odd


def _joined(texts: pa.ChunkedArray[Any]) -> bytes:
    """Return the texts one after the other, each with a line end, and zeros behind them."""
    values = texts.drop_null().combine_chunks()
    offsets = pa.array([0, len(values)], pa.int32())
    joined: Any = pc.binary_join(pa.ListArray.from_arrays(offsets, values), _SEPARATOR)
    # A copy, which is aligned.
    return b"".join([memoryview(joined[0].as_buffer()), _END])


def _hashes(data: Bytes, starts: Places, ends: Places) -> Hashes:
    """Hash runs of bytes as `terms` does one by one."""
    words = _words(data)
    lengths = ends - starts
    head = words[starts] & _MASKS[np.minimum(lengths, _WORD_BYTES)]
    whole = head * _of(HEAD)
    is_long = np.flatnonzero(lengths > _WORD_BYTES)
    if len(is_long):
        beyond = np.minimum(lengths[is_long] - _WORD_BYTES, _WORD_BYTES)
        middle = words[starts[is_long] + _WORD_BYTES] & _MASKS[beyond]
        whole[is_long] += middle * _of(MIDDLE)
        head[is_long] = words[ends[is_long] - _WORD_BYTES]
    whole += head * _of(TAIL)
    whole += lengths.astype(np.uint64) * _of(LENGTH)
    return _mixed(whole)


def _words(data: Bytes) -> Hashes:
    """Return the 8 bytes that begin at each byte."""
    return np.ndarray((len(data) - _WORD_BYTES + 1,), "<u8", data, strides=(1,))


def _mixed(values: Hashes) -> Hashes:
    values ^= values >> np.uint64(32)
    values *= _of(MIX)
    values ^= values >> np.uint64(29)
    return values


def _of(number: int) -> np.uint64:
    return np.uint64(number % 2**64)
