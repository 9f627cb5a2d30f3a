"""The console as a client of an issuer: what it reads and keeps, and answers without tokens."""

import threading
from collections.abc import Iterator
from urllib.parse import parse_qsl, urlsplit

import pytest

from segplane.gateway.console.sessions.openid import IssuerClient
from segplane.gateway.console.sessions.readings import KEPT_SECS, SharedReading
from segplane.gateway.console.sessions.session import LoginAttempt, Session
from segplane.gateway.console.settings import OidcSettings
from segplane.login.issuer import IssuerAway, expiry_of
from segplane.login.saved import LoginError
from tests.support.meta.issuer import Issuer
from tests.support.waiting import wait_until

VERIFIER = "v" * 43


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    running = Issuer()
    yield running
    running.stop()


def log_in(issuer: Issuer, client: IssuerClient) -> str:
    """Return the refresh token of a login."""
    attempt = LoginAttempt("state", "nonce", VERIFIER, "/ui/", 0.0)
    address = client.address_of(attempt)
    asked = dict(parse_qsl(urlsplit(address).query))
    answer = dict(parse_qsl(urlsplit(issuer.codes.authorize(asked)).query))
    return client.exchange(attempt, answer["code"]).refresh_token


def client_of(issuer: Issuer, *, shows_id_token: bool = False) -> IssuerClient:
    settings = OidcSettings(issuer.url, shows_id_token=shows_id_token)
    return IssuerClient(settings, "https://segplane.example.com")


def test_logins_read_the_issuer_s_documents_once(issuer: Issuer) -> None:
    client = client_of(issuer)
    log_in(issuer, client)
    first_requests = issuer.requests

    log_in(issuer, client)

    assert (first_requests, issuer.requests) == (3, 4), "the second login exchanges its code only"


def test_keys_that_the_issuer_rotated_are_read_again(issuer: Issuer) -> None:
    client = client_of(issuer)
    log_in(issuer, client)
    issuer.rotate("second")

    assert log_in(issuer, client) in issuer.devices.refresh_tokens


def test_a_renewal_without_an_id_token_asks_for_a_login(issuer: Issuer) -> None:
    client = client_of(issuer, shows_id_token=True)
    refresh_token = client.renew(log_in(issuer, client)).refresh_token
    issuer.devices.renews_id_token = False

    with pytest.raises(LoginError, match="no id_token: log in again"):
        client.renew(refresh_token)


def test_a_document_is_read_once_at_a_time_and_again_after_five_minutes() -> None:
    readings, now, is_open = list[int](), 0.0, threading.Event()

    def read() -> int:
        readings.append(len(readings))
        assert is_open.wait(30)
        return len(readings)

    document = SharedReading(read, lambda: now)
    answers: list[int] = []
    threads = [threading.Thread(target=lambda: answers.append(document.get())) for _ in range(6)]
    for thread in threads:
        thread.start()
    wait_until(lambda: len(readings) == 1, "the reading is under way")
    is_open.set()
    for thread in threads:
        thread.join(30)

    assert answers == [1] * 6
    now = KEPT_SECS - 0.1
    assert document.get() == 1
    now = KEPT_SECS
    assert document.get() == 2


def test_a_failed_reading_is_not_kept() -> None:
    answers = iter((IssuerAway("away"), 2))

    def read() -> int:
        answer = next(answers)
        if isinstance(answer, IssuerAway):
            raise answer
        return answer

    document = SharedReading(read)
    with pytest.raises(IssuerAway):
        document.get()
    assert document.get() == 2


@pytest.mark.parametrize("exp", [float("inf"), float("nan"), 1e300])
def test_a_token_without_an_end_is_renewed_at_the_end_of_its_session(exp: float) -> None:
    session = Session("1", "ann", 1_000.0, "token", exp, "refresh")

    assert session.secs_to_renewal(400.0) == 600


def test_an_end_that_is_no_number_of_seconds_is_none() -> None:
    # {"exp": 1000...} with 400 digits.
    body = "eyJleHAiOiAx" + "MDAw" * 133 + "fQ"
    assert expiry_of(f"e30.{body}.sig") is None
