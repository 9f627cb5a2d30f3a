"""Denied calls are counted by host and reason; the log gets a bounded number of lines."""

from collections.abc import Callable

import pytest
from structlog.testing import capture_logs

from meta.client.addresses import host_of
from meta.process.failed_attempts import HOST_BURST, HOST_PER_SEC, HOSTS_MAX, TOTAL_BURST
from meta.process.failed_attempts import FailedAttempts as Attempts
from meta.rpc.denials import KEYS_MAX, OTHERS, WINDOW_SECS, Denials


@pytest.mark.parametrize(
    ("peer", "host"),
    [
        ("ipv4:10.1.2.3:5000", "10.1.2.3"),
        ("ipv6:%5B2001:db8:1:2:3:4:5:6%5D:5000", "2001:db8:1:2::/64"),
        ("ipv6:[2001:db8::1]:5000", "2001:db8:0:0::/64"),
        ("ipv6:%5B::1%5D:5000", "0:0:0:0::/64"),
        ("ipv6:%5B::ffff:10.1.2.3%5D:5000", "10.1.2.3"),
        ("ipv6:%5Bfe80::1%25eth0%5D:5000", "fe80:0:0:0::/64"),
        ("unix:/run/meta", "unix"),
        ("", ""),
    ],
)
def test_a_host_is_named_without_its_port(peer: str, host: str) -> None:
    assert host_of(peer) == host


class _Timer:
    """Keeps what it is told to call later."""

    def __init__(self) -> None:
        self.calls: list[tuple[float, Callable[[], None]]] = []

    def __call__(self, secs: float, call: Callable[[], None]) -> None:
        self.calls.append((secs, call))


def test_the_first_denial_of_a_kind_is_logged_and_the_rest_counted() -> None:
    timer = _Timer()
    denials = Denials(timer)

    first = [denials.note("ipv4:10.0.0.1:1", "X"), denials.note("ipv4:10.0.0.2:1", "X")]
    rest = [denials.note(f"ipv4:10.0.0.1:{port}", "X") for port in range(2, 100)]
    with capture_logs() as logs:
        timer.calls[0][1]()

    assert (first, set(rest)) == ([True, True], {False})
    assert [(e["event"], e["host"], e["calls"]) for e in logs] == [("calls_denied", "10.0.0.1", 99)]
    assert denials.note("ipv4:10.0.0.1:1", "X")
    assert [secs for secs, _ in timer.calls] == [WINDOW_SECS, WINDOW_SECS]


def test_hosts_beyond_the_bound_are_counted_together() -> None:
    timer = _Timer()
    denials = Denials(timer)
    seen = [denials.note(f"ipv4:10.0.{n // 250}.{n % 250}:1", "X") for n in range(KEYS_MAX + 9)]

    with capture_logs() as logs:
        timer.calls[0][1]()

    assert sum(seen) == KEYS_MAX + 1
    assert [(e["host"], e["calls"]) for e in logs] == [(OTHERS, 9)]


def test_a_host_has_a_burst_and_then_a_rate() -> None:
    now = 100.0
    attempts = Attempts(lambda: now)

    taken = [attempts.may_try("a") for _ in range(int(HOST_BURST) + 1)]
    other = attempts.may_try("b")
    now += 1 / HOST_PER_SEC
    later = [attempts.may_try("a") for _ in range(2)]

    assert taken == [True] * int(HOST_BURST) + [False]
    assert other
    assert later == [True, False]


def test_many_hosts_share_one_allowance() -> None:
    attempts = Attempts(lambda: 0.0)

    taken = [attempts.may_try(str(n)) for n in range(HOSTS_MAX + 5)]

    assert sum(taken) == TOTAL_BURST
    assert len(attempts) == HOSTS_MAX
