"""docs/contributing/overload.md: bounds, metrics and the order of steps are those of the code."""

import re
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import grpc
import pytest

from meta.config import Settings
from meta.process import health_calls
from meta.roles import Role
from meta.rpc import (
    access_token_cache,
    admission,
    connections,
    decoding,
    execution,
    json_web_tokens,
    pipeline,
    refusal_pace,
    thread_shares,
)
from meta.server import server
from tests.support.meta.guarded import GuardedServer, guarded

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "contributing" / "overload.md").read_text()
SETTINGS = (ROOT / "docs" / "settings.md").read_text()
MIB, KIB = 2**20, 2**10
METHOD = "/meta.v1.CatalogService/CreateView"

# Texts that the row of each step has, from the code's constants.
BOUNDS = {
    "connection": (
        f"{connections.HANDSHAKE_MS // 1_000} s for its handshake",
        f"{connections.CONNECTION_IDLE_MS // 60_000} min without a call",
        f"{connections.CONNECTION_AGE_MS // 3_600_000} h in all",
    ),
    "headers": (f"{connections.HEADERS_BYTES_MAX // KIB} KiB",),
    "health check or watch": (
        f"{health_calls.CHECKS_MAX} checks of {health_calls.CHECK_SECS:g} s",
        f"{health_calls.WATCHES_MAX} watches of {health_calls.WATCH_SECS / 3_600:g} h",
        f"{health_calls.DISPLACED_PER_SEC:g} a second",
    ),
    "credential, by the headers alone": (f"{access_token_cache.WAITING_MAX} waiting",),
    "no credential, or a role without the call": (
        f"{refusal_pace.REFUSALS_PER_SEC:g} refusals a second, in a burst of {refusal_pace.BURST}",
        f"{pipeline.STRANGERS_MAX:,} calls without a credential wait",
        f"at most {refusal_pace.DELAY_SECS_MAX:g} s",
    ),
    "reflection": (f"{pipeline.REFLECTIONS_MAX} streams of {pipeline.REFLECTION_SECS / 60:g} min",),
    "admission": (f"`META_THREADS` / {admission.THREADS_PER_STREAM} streams",),
    "its message": (
        f"{pipeline.UNREAD_MAX} calls wait for one, each {pipeline.UNREAD_SECS:g} s",
        f"at most {server.MESSAGE_BYTES_MAX // MIB} MiB",
    ),
    "a thread": (),
    f"a message above {decoding.LARGE_BYTES // KIB} KiB": (
        f"{decoding.LARGE_AT_ONCE} at a time",
        f"{decoding.BYTES_MAX // MIB} MiB waiting",
        f"{decoding.BYTES_MAX // decoding.BYTES_SHARE // MIB} of a subject",
        f"{decoding.FIELDS_MAX:,} fields",
    ),
    "refused as malformed or overloaded": (f"{refusal_pace.REFUSAL_SECS * 1e3:g} ms of CPU",),
    "its reply": (f"takes nothing for {pipeline.WRITE_SECS:g} s",),
}
# The page has them as words.
SHARES = {
    "half of the streams and watches": admission.STREAMS_SHARE == 2,
    "half of `META_WATCHERS_MAX`": admission.STREAMS_SHARE == 2,
    "a quarter of `META_THREADS`": pipeline.THREADS_SHARE == 4,
    "one thread, while the process is busy": thread_shares.RESTRICTED_THREADS == 1,
}
# Bounds of the paragraphs below the table.
EXCEPTIONS = (
    f"the token has at most {json_web_tokens.TOKEN_CHARACTERS_MAX:,} characters",
    f"every {json_web_tokens.REFRESH_SECS:g} s",
    f"at most every {json_web_tokens.RETRY_SECS:g} s",
    f"waits up to {execution.VERSION_WAIT_SECS:g} s",
    f"neither the {pipeline.UNREAD_SECS:g} s for a message nor the {pipeline.WRITE_SECS:g} s",
    f"{refusal_pace.KEYS_MAX:,} callers have their own pace",
    f"meta sets this limit to {health_calls.WAITING_CALLS[0][1]:,}",
    f"pings {connections.PING_MS_MIN // 1_000} s apart",
)
# The function by which a call with a large message enters each step.
ENTRIES = {
    ("meta/rpc/authentication.py", "check"): "credential, by the headers alone",
    ("meta/rpc/admission.py", "admit"): "admission",
    ("meta/process/call_places.py", "read"): "its message",
    ("meta/rpc/thread_shares.py", "thread"): "a thread",
    ("meta/rpc/decoding.py", "run"): "a message above 256 KiB",
    ("meta/rpc/refusal_pace.py", "wait"): "refused as malformed or overloaded",
}


def rows(first: str) -> dict[str, list[str]]:
    """The cells of each row of the table whose first heading is `first`, by the first cell."""
    lines = PAGE[PAGE.index(f"| {first} |") :].split("\n\n")[0].splitlines()[2:]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    return {row[0]: row for row in cells}


STEPS = rows("Step")


def test_the_exceptions_have_the_bounds_of_the_code() -> None:
    page = " ".join(PAGE.split())

    assert [text for text in EXCEPTIONS if text not in page] == []


def test_handlers_that_are_coroutines_are_named() -> None:
    (line,) = re.findall(r"Handlers that are coroutines\*\* occupy no thread: ([^.]+) wait", PAGE)
    sources = [path.read_text() for path in (ROOT / "meta" / "services").rglob("*.py")]
    handlers = re.findall(r"^    async def ([A-Z]\w+)", "\n".join(sources), re.MULTILINE)

    assert set(re.split(r", | and ", line)) == set(handlers)


def test_the_page_has_a_row_for_every_step_in_order() -> None:
    assert list(STEPS) == list(BOUNDS)


@pytest.mark.parametrize("step", BOUNDS)
def test_the_bounds_of_a_step_are_those_of_the_code(step: str) -> None:
    text = " | ".join(STEPS[step])

    for bound in BOUNDS[step]:
        assert bound in text


def test_shares_and_the_streams_of_a_connection_are_those_of_the_code(
    meta_settings: Settings,
) -> None:
    streams = dict(connections.options(meta_settings))["grpc.max_concurrent_streams"]

    assert f"streams ({streams})" in STEPS["connection"][1]
    for text, is_so in SHARES.items():
        assert is_so
        assert text in PAGE


def test_settings_of_the_page_exist() -> None:
    for name in set(re.findall(r"`((?:META|COLLECTOR)_\w+)`", PAGE)):
        assert f"`{name}`" in SETTINGS, name


def test_the_page_has_every_label_of_the_metric_and_every_module() -> None:
    source = "\n".join(
        path.read_text()
        for package in ("meta/rpc", "meta/process", "collector")
        for path in sorted((ROOT / package).rglob("*.py"))
    )
    counted = set(re.findall(r'count_restricted\([^"\n]*"(\w+)"\)', source))
    counted |= {admission.CALLS, admission.STREAMS, admission.WATCHES}
    reasons = {
        reason
        for row in STEPS.values()
        for reason in re.findall(r"`(\w+)`", row[4])
        if reason not in ("stranger", "subject", "everybody")
    }

    assert reasons == counted
    for row in STEPS.values():
        assert (ROOT / "meta" / f"{row[5].strip('`')}.py").is_file(), row[0]


@pytest.fixture
def guard(meta_settings: Settings) -> Any:
    with guarded(meta_settings) as running:
        yield running


def entries(guard: GuardedServer, body: bytes, token: str) -> list[str]:
    """The steps that one call enters, in order; it is refused."""
    entered: list[str] = []

    def note(frame: FrameType, event: str, _argument: object) -> None:
        code = frame.f_code
        place = "/".join(Path(code.co_filename).parts[-3:]), code.co_name
        if event == "call" and place in ENTRIES and ENTRIES[place] not in entered:
            entered.append(ENTRIES[place])

    async def profile(function: Any) -> None:
        sys.setprofile(function)

    metadata = (("authorization", f"Bearer {token}"),) if token else ()
    guard.running.loop.run(profile(note))
    try:
        with grpc.insecure_channel(guard.address) as channel:
            call: grpc.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(METHOD)
            with pytest.raises(grpc.RpcError):
                call(body, metadata=metadata, timeout=10.0)
    finally:
        guard.running.loop.run(profile(None))
    return entered


def test_a_call_enters_the_steps_in_the_order_of_the_page(guard: GuardedServer) -> None:
    token = guard.token(Role.CATALOG).plaintext_token
    malformed = b"\x0b" * (decoding.LARGE_BYTES + 1)

    entered = entries(guard, malformed, token)

    assert entered == [step for step in STEPS if step in ENTRIES.values()]


def test_a_call_without_a_credential_is_paced_before_it_is_admitted(guard: GuardedServer) -> None:
    entered = entries(guard, b"", "")

    assert entered == [
        ENTRIES["meta/rpc/authentication.py", "check"],
        ENTRIES["meta/rpc/refusal_pace.py", "wait"],
    ]
