"""Tokens that scanners of secrets recognise: by a pattern, and offline by a checksum."""

import base64
import re
import zlib
from pathlib import Path

import pytest

from meta.store.access import token_secrets
from meta.store.access.token_secrets import ACCESS_PREFIX, LOCK_PREFIX, PREFIX

PAGE = (Path(__file__).parents[2] / "docs" / "access.md").read_text()
_PATTERN = re.compile(r"^(\(\?<!.*segp.*)$", re.MULTILINE)


@pytest.fixture(scope="module")
def pattern() -> "re.Pattern[str]":
    """The pattern of the page, as a scanner is configured with it."""
    (found,) = _PATTERN.findall(PAGE)
    return re.compile(found)


def is_token(candidate: str) -> bool:
    """The page's check, without our code."""
    body, checksum = candidate[:-6], candidate[-6:]
    crc = zlib.crc32(body.encode()).to_bytes(4, "big")
    return base64.urlsafe_b64encode(crc).rstrip(b"=").decode() == checksum


@pytest.mark.parametrize("prefix", [ACCESS_PREFIX, PREFIX, LOCK_PREFIX])
def test_a_scanner_finds_every_token_in_text_and_verifies_it_offline(
    pattern: "re.Pattern[str]", prefix: str
) -> None:
    around = ("{}", "token={}\n", '{{"authorization": "Bearer {}"}}', "x:{},", "`{}`", "/{}/")
    for number in range(600):
        token = token_secrets.new_plaintext(prefix)
        text = around[number % len(around)].format(token)

        assert pattern.findall(text) == [token]
        assert is_token(token)


def test_a_scanner_reports_nothing_else(pattern: "re.Pattern[str]") -> None:
    token = token_secrets.new_plaintext(ACCESS_PREFIX)
    others = [
        token[:-1],
        token + "A",
        "segp_",
        "it_works_on_my_machine",
        f"x{token}",
        token.upper(),
    ]

    assert [text for text in others if pattern.search(text)] == []


@pytest.mark.parametrize("prefix", [ACCESS_PREFIX, PREFIX])
def test_one_changed_character_breaks_the_checksum(prefix: str) -> None:
    token = token_secrets.new_plaintext(prefix)
    changed = [
        token[:place] + ("A" if token[place] != "A" else "B") + token[place + 1 :]
        for place in range(len(prefix), len(token))
    ]

    assert not any(map(is_token, changed))
    assert not any(token_secrets.is_well_formed(text, prefix) for text in changed)
