"""Tokens of an OpenID Connect issuer: who is taken, keys that rotate, an issuer that is away."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from meta import identities
from meta.client import MetaClient
from meta.config import Settings
from meta.errors import RoleRefused, Unauthenticated
from meta.identities import NamedRight, Oidc, RoleRule
from meta.process.environment import Environment
from meta.process.exits import ConfigError
from meta.roles import Role
from meta.rpc.json_web_tokens import (
    CLOCK_SKEW_SECS,
    KNOWN_MAX,
    REFRESH_SECS,
    RETRY_SECS,
    STALE_SECS,
    TOKEN_CHARACTERS_MAX,
    JsonWebTokens,
)
from meta.server import server
from meta.v1 import catalog_pb2
from tests.support.meta.issuer import AUDIENCE, Issuer

ANN = NamedRight("ann", Role.READER)
LIST = catalog_pb2.ListDatasetsRequest()


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    running = Issuer()
    yield running
    running.stop()


def _oidc(issuer: Issuer) -> Oidc:
    rules = (
        RoleRule("ops", Role.ADMIN),
        RoleRule("ro", Role.READER),
        RoleRule("pay", Role.READER, "p"),
    )
    return Oidc(issuer.url, AUDIENCE, rules)


class _Clock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


def test_a_server_takes_tokens_of_its_issuer_and_no_others(
    issuer: Issuer, meta_settings: Settings
) -> None:
    settings = replace(meta_settings, oidc=_oidc(issuer), requires_authentication=True)
    running = server.start(settings)
    address = f"127.0.0.1:{running.port}"
    try:
        with MetaClient(address, auth_token=issuer.token()) as ann:
            assert ann.catalog.ListDatasets(LIST).items
            with pytest.raises(RoleRefused):
                ann.catalog.CreateDataset(catalog_pb2.CreateDatasetRequest(name="x"))
        messages = set()
        for token in (issuer.token(aud="other"), issuer.token(roles=[]), "segp_x", "ey.x.y", ""):
            with (
                MetaClient(address, auth_token=token) as other,
                pytest.raises(Unauthenticated) as refused,
            ):
                other.catalog.ListDatasets(LIST)
            messages.add(refused.value.message)
        assert len(messages) == 1
    finally:
        running.stop(1.0)


@pytest.mark.parametrize(
    ("changed", "rights"),
    [
        ({}, (ANN,)),
        ({"aud": ["other", AUDIENCE]}, (ANN,)),
        ({"roles": ["ro", "ops"]}, (NamedRight("ann", Role.ADMIN),)),
        ({"roles": ["pay", "ro"]}, (ANN, NamedRight("ann", Role.READER, "p"))),
        ({"sub": "//a/b"}, ()),
        ({"roles": "ro"}, (ANN,)),
        ({"exp_secs": -CLOCK_SKEW_SECS / 2}, (ANN,)),
        ({"exp_secs": -2 * CLOCK_SKEW_SECS}, ()),
        ({"nbf": 2**40}, ()),
        ({"exp": None}, ()),
        ({"sub": None}, ()),
        ({"sub": ""}, ()),
        ({"sub": "a\nb"}, ()),
        ({"sub": "x" * 256}, ()),
        ({"aud": "other"}, ()),
        ({"aud": None}, ()),
        ({"iss": "https://elsewhere"}, ()),
        ({"iss": None}, ()),
        ({"roles": None}, ()),
        ({"roles": ["none"]}, ()),
        ({"roles": {"ro": 1}}, ()),
        ({"padding": "x" * TOKEN_CHARACTERS_MAX}, ()),
    ],
)
def test_claims_decide(
    issuer: Issuer, changed: dict[str, Any], rights: tuple[NamedRight, ...]
) -> None:
    tokens = JsonWebTokens(_oidc(issuer))

    assert asyncio.run(tokens.find(issuer.token(**changed))) == rights


def test_a_claim_may_be_inside_others(issuer: Issuer) -> None:
    tokens = JsonWebTokens(replace(_oidc(issuer), roles_claim="access.roles"))
    nested = issuer.token(roles=None, access={"roles": ["ro"]})

    assert asyncio.run(tokens.find(nested)) == (ANN,)
    assert asyncio.run(tokens.find(issuer.token())) == ()


def test_forged_signatures_are_refused(issuer: Issuer) -> None:
    ((key_id, key),) = issuer.keys.items()
    public = key.public_key().public_bytes(
        serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint
    )
    claims, head = issuer.claims(), {"kid": key_id}
    stranger = ec.generate_private_key(ec.SECP256R1())
    forged = [
        jwt.encode(claims, stranger, "ES256", headers=head),
        jwt.encode(claims, stranger, "ES256", headers={"kid": "other"}),
        jwt.encode(claims, stranger, "ES256"),
        jwt.encode(claims, public, "HS256", headers=head),
        jwt.encode(claims, "", "none", headers=head),
        issuer.token()[:-4] + "AAAA",
        "ey..",
    ]
    tokens = JsonWebTokens(_oidc(issuer))

    async def show() -> list[tuple[NamedRight, ...]]:
        return [await tokens.find(token) for token in forged]

    assert asyncio.run(show()) == [()] * len(forged)


def test_a_new_key_is_followed_and_an_old_one_forgotten(issuer: Issuer) -> None:
    clock = _Clock()
    tokens = JsonWebTokens(_oidc(issuer), clock)

    async def rotate() -> None:
        before = issuer.token()
        assert await tokens.find(before) == (ANN,)
        issuer.rotate("second")
        clock.now += RETRY_SECS
        assert await tokens.find(issuer.token()) == (ANN,)
        clock.now += REFRESH_SECS
        assert await tokens.find(before) == ()
        assert await tokens.find(issuer.token()) == (ANN,)

    asyncio.run(rotate())


def test_unknown_keys_do_not_make_the_server_ask_again_and_again(issuer: Issuer) -> None:
    tokens = JsonWebTokens(_oidc(issuer), _Clock())
    stranger = ec.generate_private_key(ec.SECP256R1())

    async def guess() -> None:
        assert await tokens.find(issuer.token()) == (ANN,)
        asked = issuer.requests
        for number in range(50):
            head = {"kid": f"guess-{number}"}
            guessed = jwt.encode(issuer.claims(), stranger, "ES256", headers=head)
            assert await tokens.find(guessed) == ()
        assert issuer.requests == asked

    asyncio.run(guess())


def test_an_outage_of_the_issuer_refuses_nobody_for_a_day(issuer: Issuer) -> None:
    clock = _Clock()
    tokens = JsonWebTokens(_oidc(issuer), clock)

    async def go_through() -> None:
        assert await tokens.find(issuer.token()) == (ANN,)
        issuer.stop()
        try:
            for _ in range(5):
                clock.now += STALE_SECS / 5
                assert await tokens.find(issuer.token(jti=str(clock.now))) == (ANN,)
            clock.now += 1
            assert await tokens.find(issuer.token(jti="late")) == ()
        finally:
            issuer.start()
        clock.now += RETRY_SECS
        assert await tokens.find(issuer.token(jti="back")) == (ANN,)

    asyncio.run(go_through())


def test_an_issuer_that_was_away_from_the_start_is_asked_again(issuer: Issuer) -> None:
    clock = _Clock()
    tokens = JsonWebTokens(_oidc(issuer), clock)

    async def go_through() -> None:
        issuer.stop()
        try:
            assert await tokens.find(issuer.token()) == ()
        finally:
            issuer.start()
        clock.now += RETRY_SECS
        assert await tokens.find(issuer.token()) == (ANN,)

    asyncio.run(go_through())


def test_few_checked_tokens_are_remembered(issuer: Issuer) -> None:
    tokens = JsonWebTokens(_oidc(issuer))

    async def show() -> None:
        for number in range(KNOWN_MAX + 5):
            assert await tokens.find(issuer.token(jti=str(number))) == (ANN,)
        assert len(tokens) == KNOWN_MAX

    asyncio.run(show())


GOOD = {"META_OIDC_ISSUER": "https://i", "META_OIDC_AUDIENCE": "a", "META_OIDC_ROLES": "x=reader"}


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"META_OIDC_ISSUER": "http://issuer.example"}, "OIDC_ISSUER"),
        ({"META_OIDC_KEYS_URL": "file:///etc/passwd"}, "OIDC_KEYS_URL"),
        ({"META_OIDC_ROLES": ""}, "OIDC_ROLES"),
        ({"META_OIDC_AUDIENCE": ""}, "OIDC_AUDIENCE"),
        ({"META_OIDC_ROLES": "x"}, "OIDC_ROLES"),
        ({"META_OIDC_ROLES": "x=king"}, "king"),
    ],
)
def test_unsafe_settings_are_refused(changed: dict[str, str], said: str) -> None:
    assert identities.oidc(Environment("META_", GOOD)) is not None
    with pytest.raises(ConfigError, match=said):
        identities.oidc(Environment("META_", {**GOOD, **changed}))
