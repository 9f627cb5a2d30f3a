"""Two tenants with equal names and interleaved calls: each sees what it would see alone.

Each tenant has a twin that makes the same calls while nobody else does. Values that differ by
nature are masked by their names, and ids by the order in which a tenant meets them: that of another
tenant would be one more.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any

import pytest
from google.protobuf.json_format import MessageToDict
from sqlalchemy import event

from meta.client import MetaClient
from meta.config import Settings
from meta.errors import MetaError
from meta.roles import Role
from tests.support.meta.guarded import GuardedServer
from tests.support.meta.tenant_steps import STEPS, Drawn
from tests.support.meta.tenants import (
    TenantDriver,
    guarded_for_tenants,
    new_token,
    operator_in,
)

ROUNDS = 3
CALLS = 120
# Most other calls are about what was created.
DRAWN_STEPS = (*STEPS, *[name for name in STEPS if name.startswith("create")] * 4)
MASKED_FIELDS = re.compile(
    r"version|versions|.*_version|.*_at|.*_nanos|.*_secs|response_seq|.*cursor|.*after.*|hint|"
    r".*plaintext.*|token_hint|config_version|digest"
)
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
TIMES = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z?|(?<![\w-])\d{4,}(?![\w-])")


@dataclass
class Transcript:
    """The calls of one tenant with their answers, and the ids that it has met."""

    client: MetaClient
    draws: Random
    drawn: Drawn
    tenant: str
    lines: list[str] = field(default_factory=list)
    met: dict[str, str] = field(default_factory=dict)

    def step(self) -> None:
        """Make the next call."""
        name = self.draws.choice(DRAWN_STEPS)
        try:
            reply = STEPS[name](self.client, self.drawn)
        except MetaError as error:
            shown = f"{error.reason} {error.message} {sorted(error.metadata.items())}"
        else:
            shown = str(_masked(MessageToDict(reply, preserving_proto_field_name=True)))
        self.lines.append(f"{name}: {self._renamed(shown)}")

    def _renamed(self, shown: str) -> str:
        shown = shown.replace(self.tenant, "tenant")
        return TIMES.sub("*", UUID.sub(lambda match: self._number(match[0]), shown))

    def _number(self, entry_id: str) -> str:
        if entry_id in self.drawn.others:
            return "another's id"
        return self.met.setdefault(entry_id, f"id {len(self.met)}")


def _masked(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            name: "*" if MASKED_FIELDS.fullmatch(name) else _masked(each)
            for name, each in sorted(value.items())
            # Audit records have numbers as ids.
            if not (name == "id" and str(each).isdigit())
        }
    return [_masked(each) for each in value] if isinstance(value, list) else value


@pytest.fixture
def guard(meta_settings: Settings) -> Iterator[GuardedServer]:
    with guarded_for_tenants(meta_settings) as running:
        yield running


@contextmanager
def _transcripts(guard: GuardedServer, round_number: int) -> Iterator[dict[str, Transcript]]:
    """Two tenants that know each other's ids, and the twin of each, which knows nobody's."""
    with ExitStack() as stack:
        made = {}
        for name in ("first", "second", "first twin", "second twin"):
            tenant = f"{name} {round_number} {len(TenantDriver(guard.admin).names())}"
            tenant_id = TenantDriver(guard.admin).create(tenant).id
            with operator_in(guard, tenant) as operator:
                token = new_token(operator, Role.TENANT_ADMIN, "boss").plaintext_token
            client = stack.enter_context(MetaClient(guard.address, auth_token=token))
            # Twins draw the same.
            seed = f"{name.split()[0]} {round_number}"
            made[name] = Transcript(client, Random(seed), Drawn(Random(f"{seed} values")), tenant)
            made[name].met[tenant_id] = "tenant"
        first, second = made["first"].drawn, made["second"].drawn
        first.foreign, second.foreign = second.ids, first.ids
        yield made


def _differences(guard: GuardedServer, round_number: int) -> list[tuple[str, str]]:
    order = Random(round_number)
    with _transcripts(guard, round_number) as made:
        turns = ["first", "second"] * CALLS
        order.shuffle(turns)
        for name in turns:
            made[name].step()
        for name in ("first", "second"):
            for _ in made[name].lines:
                made[f"{name} twin"].step()
        return [
            (ours, alone)
            for name in ("first", "second")
            for ours, alone in zip(made[name].lines, made[f"{name} twin"].lines, strict=True)
            if ours != alone
        ]


@contextmanager
def _unfiltered(guard: GuardedServer) -> Iterator[list[str]]:
    """Take the tenant out of the conditions of all statements but the driver's own; lists them."""
    changed: list[str] = []

    def rewrite(
        _tx: object, _cursor: object, statement: str, parameters: Any, _context: object, _m: bool
    ) -> tuple[str, Any]:
        plain = _without_tenant(statement)
        if plain != statement:
            changed.append(statement)
        return plain, parameters

    engine = guard.running.database.engine
    event.listen(engine, "before_cursor_execute", rewrite, retval=True)
    try:
        yield changed
    finally:
        event.remove(engine, "before_cursor_execute", rewrite)


_PARAMETER = r"%\((?:naming_)?tenant\w*\)s(?:::\w+)?"
_CONDITIONS = (
    # Of ids, of text and of SQLAlchemy.
    re.compile(rf"\(cast\({_PARAMETER} AS integer\) IS NULL OR [\w.]+tenant_key = {_PARAMETER}\)"),
    re.compile(rf"\({_PARAMETER} IS NULL OR [\w.]+tenant_key = {_PARAMETER}\)"),
    re.compile(rf"(?:\w+\.)?tenant_key = {_PARAMETER}"),
)


def _without_tenant(statement: str) -> str:
    for condition in _CONDITIONS:
        statement = condition.sub("true", statement)
    return statement


@pytest.mark.long
@pytest.mark.parametrize("is_filtered", [True, False], ids=["all layers", "policies alone"])
def test_each_tenant_sees_what_it_would_see_alone(guard: GuardedServer, is_filtered: bool) -> None:
    run: Callable[[int], list[tuple[str, str]]] = lambda number: _differences(guard, number)  # noqa: E731
    if is_filtered:
        found = [pair for number in range(ROUNDS) for pair in run(number)]
    else:
        with _unfiltered(guard) as changed:
            found = [pair for number in range(ROUNDS) for pair in run(number)]
        assert len(set(changed)) > 20
    assert found[:3] == []
