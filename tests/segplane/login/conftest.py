"""A meta that trusts an issuer, the commands of a person in a terminal, and their folder."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from meta.config import Settings
from meta.identities import Oidc, RoleRule
from meta.roles import Role
from tests.support.login import Person
from tests.support.meta.guarded import GuardedServer, guarded
from tests.support.meta.issuer import AUDIENCE, Issuer


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    running = Issuer()
    yield running
    running.stop()


@pytest.fixture
def guard(meta_settings: Settings, issuer: Issuer) -> Iterator[GuardedServer]:
    oidc = Oidc(issuer.url, AUDIENCE, (RoleRule("ro", Role.READER),))
    with guarded(replace(meta_settings, oidc=oidc)) as running:
        yield running


@pytest.fixture
def person(guard: GuardedServer, tmp_path: Path) -> Person:
    return Person(tmp_path / "config", guard.address)
