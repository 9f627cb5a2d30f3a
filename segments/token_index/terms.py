"""Terms of texts and pairs of attributes, and their hashes: the definition for all sides.

A term is a run of ASCII letters and digits, as long as it can be, in lower case. Every other
character separates terms, except two that are folded to ASCII letters: the Kelvin sign is a k and
the dotted capital I is an i. Terms of at most SHORT characters with a digit among them are in no
index: they are numbers and parts of UUIDs, which nearly every span of rows has, and were half of
all terms of logs with ids. A pair is a key of an object in a JSON text and its value, if that is
a string.

A hash has 64 bits and is made of the length of some bytes and of their first 16 and last 8.
"""

import re

TEXT_COLUMNS = ("body",)
ATTRIBUTE_COLUMNS = ("attributes", "resource_attributes", "scope_attributes")

# Odd numbers of 64 bits with about as many ones as zeros.
HEAD, MIDDLE, TAIL, LENGTH, KEY, MIX = (
    0x9E3779B97F4A7C15,
    0xC2B2AE3D27D4EB4F,
    0x165667B19E3779F9,
    0xD6E8FEB86659FD93,
    0xA0761D6478BD642F,
    0xE7037ED1A0B428DB,
)
SALTS = {name: number + 1 for number, name in enumerate((*TEXT_COLUMNS, *ATTRIBUTE_COLUMNS))}
FOLDED = ((b"\xe2\x84\xaa", b"k"), (b"\xc4\xb0", b"i"))
_MASK = 2**64 - 1
SHORT = 4
_TERM = re.compile(r"[0-9A-Za-z]+")
_DIGIT = re.compile(r"[0-9]")
# Characters that JSON may write otherwise than they are.
_ESCAPED = re.compile(r'["\\\x00-\x1f\x7f]')
# Texts in which an engine may show a value that is not a string.
_NO_STRING = re.compile(r"[0-9eE+\-. ]*\Z|true\Z|false\Z|[\[{]")


def searched_terms(text: str, begins: bool = True, ends: bool = True) -> tuple[str, ...]:
    """Return indexed terms that every text has in which `text` is found, whatever the case.

    If it `begins` or `ends` a term, no letter or digit is before or behind it there. Terms beside a
    character that is not ASCII are skipped, because that one may be found in another form.
    """
    terms = []
    for match in _TERM.finditer(text):
        if len(match[0]) <= SHORT and _DIGIT.search(match[0]):
            continue
        before, after = text[: match.start()][-1:], text[match.end() :][:1]
        if (before.isascii() if before else begins) and (after.isascii() if after else ends):
            terms.append(match[0].lower())
    return tuple(dict.fromkeys(terms))


def has_pair(key: str, value: str) -> bool:
    """Return whether an attribute that is shown as this text is a string in one form alone."""
    return not (_ESCAPED.search(key) or _ESCAPED.search(value) or _NO_STRING.match(value))


def term_hash(column: str, term: str) -> int:
    """Return the hash of a term of a text column."""
    return _mixed(SALTS[column] * KEY + _bytes_hash(term.encode()))


def pair_hash(column: str, key: str, value: str) -> int:
    """Return the hash of a key and its value in a column of attributes."""
    key_hash = _mixed(_bytes_hash(key.encode()) + SALTS[column])
    return _mixed(key_hash * KEY + _bytes_hash(value.encode()))


def _bytes_hash(data: bytes) -> int:
    head, middle = (int.from_bytes(part, "little") for part in (data[:8], data[8:16]))
    tail = int.from_bytes(data[-8:], "little")
    return _mixed(head * HEAD + middle * MIDDLE + tail * TAIL + len(data) * LENGTH)


def _mixed(value: int) -> int:
    value &= _MASK
    value = ((value ^ value >> 32) * MIX) & _MASK
    return value ^ value >> 29
