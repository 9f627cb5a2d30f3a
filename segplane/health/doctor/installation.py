"""Checks of what meta knows: its state, the processes, lateness, and their ports from here."""

import socket
from collections.abc import Iterator
from dataclasses import dataclass

from dataplane.location import ask_location
from meta.client import MetaClient
from meta.errors import MetaError, RoleRefused, Unauthenticated, Unimplemented
from meta.v1 import operations_pb2
from segments.location import Stores
from segplane.health.doctor import credentials
from segplane.health.doctor.verdicts import CheckResult, CheckVerdict, judged, unknown
from segplane.health.freshness import read_freshness
from segplane.health.processes import Judged, ProcessState, Status, read_status

META, PROCESSES, DATA = "meta", "processes", "data"
# Kinds of processes whose names are the address that others call.
_SERVING = ("meta", "collector", "gateway")
_PORTS_MAX = 100
_PORT_SECS = 2.0
# As gRPC's core words it.
_CERTIFICATE_ENDED = "certificate has expired"
_NEEDS_ROLE = "use a credential of the role operator-read or admin"


@dataclass(frozen=True, slots=True)
class MetaFacts:
    """The time of the database and the stores, as far as meta tells them."""

    database_time_nanos: int | None = None
    stores: Stores | None = None
    status: Status | None = None


def examine(client: MetaClient, address: str) -> tuple[list[CheckResult], MetaFacts]:
    """Check meta and what it knows of the others; also returns what further checks need."""
    try:
        state = client.operations.GetServerState(operations_pb2.GetServerStateRequest())
    except RoleRefused as error:
        return [unknown(META, "state", error.message, _NEEDS_ROLE)], MetaFacts()
    except Unauthenticated as error:
        step = "the credential of this command is missing, unknown or has ended: create another"
        return [CheckResult(META, "state", CheckVerdict.NEEDS, error.message, step)], MetaFacts()
    except MetaError as error:
        text = f"meta does not answer at {address}: {error.message}"
        step = "see its log; start it with `segplane serve` or your service manager"
        if _CERTIFICATE_ENDED in error.message:
            text = f"the certificate of meta at {address} has expired"
            step = "replace META_TLS_CERT_FILE, and restart meta"
        return [CheckResult(META, "state", CheckVerdict.NEEDS, text, step)], MetaFacts()
    status, processes = _processes(client)
    tokens = credentials.examine(client, state.database_time_nanos)
    checks = [*_state(state), *tokens, *processes, *_late(client)]
    try:
        stores = ask_location(client, "").stores
    except MetaError as error:
        checks.append(_unanswered(META, "stores", error))
        stores = None
    return checks, MetaFacts(state.database_time_nanos, stores, status)


def _unanswered(area: str, name: str, error: MetaError) -> CheckResult:
    """Return a check that meta does not answer: to this role, in its release, or now."""
    if isinstance(error, RoleRefused):
        return unknown(area, name, error.message, _NEEDS_ROLE)
    if isinstance(error, Unimplemented):
        return unknown(area, name, "meta is of an earlier release", "upgrade meta")
    text = f"meta does not answer: {error.message}"
    return CheckResult(area, name, CheckVerdict.NEEDS, text, "see the log of meta and its database")


def _state(state: operations_pb2.GetServerStateResponse) -> Iterator[CheckResult]:
    text = (
        f"meta answers at version {state.version}, to {state.caller.subject} as {state.caller.role}"
    )
    yield CheckResult(META, "state", CheckVerdict.OK, text)
    witness = state.witness
    trouble = f"the database counts as restored: {witness.restored_reason}"
    yield judged(
        META,
        "history",
        "the database has not gone back to an older state",
        trouble if witness.restored_reason else "",
        next_step="run `segplane catalog reconcile`, and then `segplane deletion release`",
    )
    if witness.superseded_by:
        text = f"another database has taken over the bucket, with history {witness.superseded_by}"
        step = "stop one of the two (docs/operations.md)"
        yield CheckResult(META, "bucket", CheckVerdict.NEEDS, text, step)
    unkept = "" if witness.is_kept else "meta keeps no witness: a restored database is not noticed"
    step = "set META_OBJECT_STORE_URL with credentials for witness/"
    yield judged(META, "witness", "a witness is kept", unkept, is_warning=True, next_step=step)
    stopped = [f"deletion is braked for {brake.dataset_name}" for brake in state.deletion_brakes]
    if state.deletion_held:
        stopped.insert(0, "deletion is held after a failover or restore")
    step = "see `segplane deletion plan`, and release it once you know why"
    yield judged(META, "deletion", "deletion goes on", "; ".join(stopped), next_step=step)


def _processes(client: MetaClient) -> tuple[Status | None, list[CheckResult]]:
    try:
        status = read_status(client)
    except MetaError as error:
        return None, [_unanswered(PROCESSES, "all", error)]
    reporting = [each for each in status.processes if each.state is ProcessState.REPORTS]
    checks = [
        CheckResult(PROCESSES, "all", CheckVerdict.NEEDS, need, "see `segplane status`")
        for need in status.needs
    ]
    text = f"{len(reporting)} processes report, and all of them are well"
    if not checks:
        checks.append(CheckResult(PROCESSES, "all", CheckVerdict.OK, text))
    releases = sorted({each.process.report.release for each in reporting} - {""})
    mixed = f"several releases run: {', '.join(releases)}" if len(releases) > 1 else ""
    step = "finish the upgrade (docs/operations.md)"
    shown = f"all are of release {', '.join(releases)}"
    checks.append(judged(PROCESSES, "releases", shown, mixed, is_warning=True, next_step=step))
    return status, [*checks, *map(port_check, _with_port(reporting))]


def _with_port(reporting: list[Judged]) -> list[Judged]:
    return [each for each in reporting if each.process.report.kind in _SERVING][:_PORTS_MAX]


def port_check(each: Judged) -> CheckResult:
    """Try to reach a process at the address that it reports as its name."""
    host, _, port = each.process.report.name.rpartition(":")
    name = f"port of {each.title}"
    if not host or not (port.isascii() and port.isdecimal()):
        return unknown(PROCESSES, name, "its name is not an address")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), _PORT_SECS):
            return CheckResult(PROCESSES, name, CheckVerdict.OK, f"{host}:{port} takes connections")
    except (OSError, OverflowError, ValueError) as error:
        # A process may serve on an address that this machine does not reach.
        step = "check it from a machine that its callers are on"
        return unknown(PROCESSES, name, f"it is not reached from here: {error}", step)


def _late(client: MetaClient) -> Iterator[CheckResult]:
    try:
        freshness = read_freshness(client, None, 0, include_fresh=False)
    except MetaError as error:
        yield _unanswered(DATA, "freshness", error)
        return
    needs = list(freshness.needs)
    for need in needs:
        step = "see `segplane why` with the dataset's name"
        yield CheckResult(DATA, "freshness", CheckVerdict.NEEDS, need, step)
    if not needs:
        yield CheckResult(
            DATA, "freshness", CheckVerdict.OK, freshness.headline.removeprefix("ok: ")
        )
