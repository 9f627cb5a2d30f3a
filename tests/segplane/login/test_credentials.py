"""A saved login as calls use it: renewed in time, by one process at once, and clearly over."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from meta.client import MetaClient
from meta.errors import Unauthenticated
from meta.v1 import catalog_pb2
from segplane.login import credentials, saved
from segplane.login import issuer as issuers
from segplane.login.credentials import RETRY_SECS, LoginCredentials
from segplane.login.issuer import (
    INTERVAL_SECS_MAX,
    WAIT_SECS_MAX,
    DeviceCode,
    Endpoints,
    IssuerRefused,
)
from segplane.login.saved import RENEW_SECS, SavedLogin
from segplane.read.connection import connect
from segplane.read.errors import ReadError
from tests.support.clock import SettableClock
from tests.support.meta.guarded import GuardedServer
from tests.support.meta.issuer import Issuer

LIST = catalog_pb2.ListDatasetsRequest()
SERVER = "meta:9500"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("SEGPLANE_META_AUTH_TOKEN", raising=False)
    monkeypatch.delenv("SEGPLANE_META_AUTH_TOKEN_FILE", raising=False)


def _saved(issuer: Issuer, address: str = SERVER, exp_secs: float = 600.0) -> SavedLogin:
    """Save a login whose refresh token the issuer knows."""
    token = issuer.token(exp_secs=exp_secs)
    issuer.devices.refresh_tokens.add("first")
    expires_at = issuers.expiry_of(token)
    login = SavedLogin(token, expires_at, "first", issuer.url, "segplane")
    saved.save(address, login)
    return login


def _clock(login: SavedLogin, left_secs: float) -> SettableClock:
    clock = SettableClock()
    clock.now = (login.expires_at or 0.0) - left_secs
    return clock


def test_a_login_is_renewed_before_it_expires_and_saved(issuer: Issuer) -> None:
    login = _saved(issuer)
    clock = _clock(login, RENEW_SECS + 1)
    bearer = LoginCredentials(SERVER, login, clock)
    assert bearer() == (("authorization", f"Bearer {login.token}"),)
    assert issuer.devices.forms == []

    clock.now += 2
    issuer.devices.token_secs = 10_000
    renewed = bearer()

    assert renewed != (("authorization", f"Bearer {login.token}"),)
    kept = saved.load(SERVER)
    assert kept is not None
    assert renewed == (("authorization", f"Bearer {kept.token}"),)
    assert {kept.refresh_token} == issuer.devices.refresh_tokens
    assert bearer() == renewed
    assert len(issuer.devices.forms) == 1


def test_one_process_renews_for_all(issuer: Issuer) -> None:
    login = _saved(issuer)
    issuer.devices.token_secs = 10_000
    # Each has the login as it was, as processes have that started earlier.
    processes = [LoginCredentials(SERVER, login, _clock(login, 1)) for _ in range(8)]

    with ThreadPoolExecutor(8) as pool:
        tokens = set(pool.map(lambda one: one(), processes))

    assert len(tokens) == 1
    assert len(issuer.devices.forms) == 1


def test_an_issuer_that_is_away_is_asked_again_and_an_expired_login_says_so(
    issuer: Issuer,
) -> None:
    login = _saved(issuer)
    clock = _clock(login, 30)
    bearer = LoginCredentials(SERVER, login, clock)
    issuer.stop()
    try:
        assert bearer() == (("authorization", f"Bearer {login.token}"),)
        clock.now += 31
        with pytest.raises(Unauthenticated, match=r"has expired .*: run `segplane login`"):
            bearer()
    finally:
        issuer.start()

    issuer.devices.token_secs = 10_000
    clock.now += RETRY_SECS
    assert bearer() != (("authorization", f"Bearer {login.token}"),)


def test_a_renewal_that_is_refused_leaves_the_token_until_it_expires(issuer: Issuer) -> None:
    login = _saved(issuer)
    issuer.devices.refresh_tokens.clear()
    clock = _clock(login, 30)
    bearer = LoginCredentials(SERVER, login, clock)

    assert bearer() == (("authorization", f"Bearer {login.token}"),)
    clock.now += 31
    with pytest.raises(Unauthenticated, match="has expired"):
        bearer()


def test_readers_use_the_login_of_their_server(guard: GuardedServer, issuer: Issuer) -> None:
    with pytest.raises(Unauthenticated), connect(guard.address, None, None) as client:
        client.catalog.ListDatasets(LIST)
    _saved(issuer, guard.address)

    with connect(guard.address, None, None) as client:
        assert client.catalog.ListDatasets(LIST).items
    with pytest.raises(Unauthenticated), connect(guard.address, "segp_other", None) as client:
        client.catalog.ListDatasets(LIST)
    saved.path_of(guard.address).chmod(0o644)
    with pytest.raises(ReadError, match="can be read by others"):
        connect(guard.address, None, None)


def test_calls_go_on_while_the_login_is_renewed(guard: GuardedServer, issuer: Issuer) -> None:
    _saved(issuer, guard.address, exp_secs=RENEW_SECS - 1)
    bearer = credentials.of_server(guard.address)
    assert bearer is not None

    def call(_: int) -> int:
        return len(client.catalog.ListDatasets(LIST).items)

    with (
        MetaClient(guard.address, credentials=bearer) as client,
        ThreadPoolExecutor(4) as pool,
    ):
        assert all(pool.map(call, range(40)))
    assert [form["grant_type"] for form in issuer.devices.forms] == ["refresh_token"]


def test_an_issuer_cannot_make_a_login_wait_without_end(issuer: Issuer) -> None:
    issuer.devices.interval_secs = issuer.devices.expires_secs = float("inf")

    code = issuers.begin(Endpoints("", f"{issuer.url}/device", ""), {"client_id": "segplane"})

    assert (code.interval_secs, code.expires_secs) == (INTERVAL_SECS_MAX, WAIT_SECS_MAX)


def test_polling_slows_down_when_told_and_ends_with_the_code(issuer: Issuer) -> None:
    pauses: list[float] = []
    code = DeviceCode("device-none", "none", "http://x", 5.0, 60.0)
    endpoints = Endpoints(f"{issuer.url}/token", f"{issuer.url}/device", "")
    issuer.devices.errors = ["authorization_pending", "slow_down", "authorization_pending"]

    with pytest.raises(IssuerRefused, match="expired_token"):
        issuers.wait(endpoints, "segplane", code, pauses.append)

    assert pauses == [5.0, 5.0, 10.0, 10.0]


def test_polling_goes_on_while_the_issuer_is_away(issuer: Issuer) -> None:
    endpoints = Endpoints(f"{issuer.url}/token", f"{issuer.url}/device", "")
    with issuer.lock:
        issuer.devices.answer("/device", {"client_id": "segplane"})
    code = DeviceCode("device-ABCD-0000", "ABCD-0000", "http://x", 5.0, 60.0)
    pauses: list[float] = []

    def pause(secs: float) -> None:
        pauses.append(secs)
        if len(pauses) == 1:
            issuer.stop()
        if len(pauses) == 3:
            issuer.start()
            issuer.devices.decide("ABCD-0000")

    assert "access_token" in issuers.wait(endpoints, "segplane", code, pause)
    assert pauses == [5.0, 10.0, 20.0]
