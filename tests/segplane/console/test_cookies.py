"""Cookies of the console: sealed, in parts, bound to their kind and port, with keys that rotate."""

import json
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import Request
from starlette.responses import Response

from meta.secrets import random_bytes
from segplane.gateway.console.sessions.cookies import (
    PART_BYTES_MAX,
    PARTS_MAX,
    Cookie,
    CookieTooLarge,
)
from segplane.gateway.console.sessions.sealing import Sealer
from segplane.gateway.console.sessions.session import largest_claim
from tests.support.gateway.web_client import WebClient

NEW, OLD = "n" * 32, "o" * 32
FIELDS: Mapping[str, str | float | None] = {"id": "1", "ends_at": 2.5}


def cookie(*keys: str, is_public: bool = True, suffix: str = "") -> Cookie:
    return Cookie(Sealer(keys or (NEW,)), is_public, suffix, 60, False)


def request(cookies: Mapping[str, str], port: int = 9580) -> Request:
    text = "; ".join(f"{name}={value}" for name, value in cookies.items())
    headers = [(b"cookie", text.encode())]
    return Request({"type": "http", "headers": headers, "server": ("127.0.0.1", port)})


def written(cookie: Cookie, fields: Mapping[str, str | float | None]) -> dict[str, str]:
    """Return the cookies that a browser then has."""
    response = Response()
    cookie.write(request({}), response, fields)
    browser = WebClient(0)
    for text in response.headers.getlist("set-cookie"):
        name, _, value = text.partition(";")[0].partition("=")
        if "Max-Age=0" not in text:
            browser.cookies[name] = value
    return browser.cookies


def attributes(cookie: Cookie) -> set[str]:
    response = Response()
    cookie.write(request({}), response, FIELDS)
    return set(response.headers.getlist("set-cookie")[0].split("; ")[1:])


def test_a_public_cookie_is_of_its_host_alone() -> None:
    cookies = written(cookie(), FIELDS)

    assert list(cookies) == ["__Host-segplane"]
    expected = {"HttpOnly", "Max-Age=60", "Path=/", "SameSite=lax", "Secure"}
    assert attributes(cookie()) == expected


def test_a_cookie_of_this_machine_has_the_port_and_stays_below_the_console() -> None:
    local = cookie(is_public=False)

    assert list(written(local, FIELDS)) == ["segplane-9580"]
    assert attributes(local) == {"HttpOnly", "Max-Age=60", "Path=/ui/", "SameSite=strict"}


def test_a_cookie_opens_as_its_own_kind_at_its_own_port_alone() -> None:
    local = cookie(is_public=False)
    (value,) = written(local, FIELDS).values()

    assert local.read(request({"segplane-9580": value})) == FIELDS
    assert local.read(request({"segplane-9581": value}, port=9581)) is None
    login = cookie(is_public=False, suffix="-login")
    assert login.read(request({"segplane-9580-login": value})) is None
    assert cookie().read(request({"__Host-segplane": value})) is None


def test_the_first_key_encrypts_and_all_are_read() -> None:
    old = written(cookie(OLD), FIELDS)
    rotated = cookie(NEW, OLD)

    assert rotated.read(request(old)) == FIELDS
    assert cookie(NEW).read(request(written(rotated, FIELDS))) == FIELDS
    assert cookie(NEW).read(request(old)) is None
    assert set(Sealer([OLD]).form_tokens("1")) < set(Sealer([NEW, OLD]).form_tokens("1"))


@given(st.integers(0, 10_000), st.characters(codec="ascii"))
def test_a_changed_cookie_is_no_cookie(position: int, character: str) -> None:
    ((name, value),) = written(cookie(), FIELDS).items()
    position %= len(value)
    changed = value[:position] + character + value[position + 1 :]

    # The last character of base64 has bits that say nothing.
    if changed != value and position < len(value) - 1:
        assert Sealer((NEW,)).open(name, changed) is None


@pytest.mark.parametrize("text", ["", "x", "é", "=" * 100, "A" * 100_000, "\x00"])
def test_a_text_that_was_never_sealed_is_no_cookie(text: str) -> None:
    assert Sealer((NEW,)).open("session", text) is None


def test_a_session_has_at_most_two_parts() -> None:
    def fits(size: int) -> dict[str, str]:
        return written(cookie(), {"token": random[:size]})

    # Random bits do not compress, but for what hexadecimal digits waste.
    random = random_bytes(20_000).hex()
    sizes = range(1, len(random))
    most = max(filter(lambda size: _is_taken(fits, size), sizes[::97]))
    most = max(filter(lambda size: _is_taken(fits, size), range(most, most + 98)))
    parts = fits(most)

    assert list(parts) == ["__Host-segplane", "__Host-segplane-2"]
    assert all(len(part) <= PART_BYTES_MAX for part in parts.values())
    assert sum(map(len, parts.values())) > PARTS_MAX * PART_BYTES_MAX - 100
    assert cookie().read(request(parts)) == {"token": random[:most]}
    assert cookie().read(request(parts | {"__Host-segplane-2": ""})) is None
    assert cookie().read(request({"__Host-segplane-2": parts["__Host-segplane-2"]})) is None


def _is_taken(fits: object, size: int) -> bool:
    try:
        assert callable(fits)
        fits(size)
    except CookieTooLarge:
        return False
    return True


def test_a_smaller_session_deletes_the_part_of_a_larger_one() -> None:
    large = written(cookie(), {"token": random_bytes(3_000).hex()})
    response = Response()
    cookie().write(request(large), response, FIELDS)

    texts = response.headers.getlist("set-cookie")
    deleted = [text for text in texts if text.startswith("__Host-segplane-2=")]
    assert len(deleted) == 1
    assert "Max-Age=0" in deleted[0]
    # A browser that kept it anyway has a session all the same.
    small = written(cookie(), FIELDS)
    assert cookie().read(request(large | small)) == FIELDS


def test_the_largest_claim_of_a_token_is_found() -> None:
    import base64

    claims = json.dumps({"sub": "ann", "groups": ["a" * 90], "aud": "x"}).encode()
    body = base64.urlsafe_b64encode(claims).decode().rstrip("=")

    assert largest_claim(f"e30.{body}.x") == "groups"
    for token in ("", "segp_x", "a.b.c", "a.e30.c", "a.W10.c", "a.MQ.c", "é.é.é"):
        assert largest_claim(token) == "", token
