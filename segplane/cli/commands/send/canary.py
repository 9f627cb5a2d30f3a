"""segplane canary: whether records arrive all the time, measured from outside."""

import json
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from click.exceptions import Exit

from segplane.cli.command import command, group
from segplane.cli.commands.send.delivery import DEFAULT_OTLP
from segplane.cli.connection import EXIT_REFUSED, connect, usage
from segplane.cli.options import DataDir
from segplane.cli.output import AsJson, size_text, time_text
from segplane.cli.parameters import Option
from segplane.stack.defaults import DEFAULT_DATA_DIR

if TYPE_CHECKING:
    from segplane.cli.canary.probes import ProbeReport
    from segplane.cli.canary.readers import ProbeReader
    from segplane.cli.canary.run import CanarySummary
    from segplane.cli.delivery import OtlpTarget

app = group()
Token = Annotated[
    str,
    Option(
        "--token", envvar="SEGPLANE_CANARY_TOKEN", help="Ingest token whose logs go to the dataset."
    ),
]
Every = Annotated[float, Option(min=1, max=3_600, help="Seconds from a record to the next.")]
Count = Annotated[int | None, Option(min=1, help="Records to send; unset: until it is stopped.")]
Late = Annotated[
    float, Option(min=1, max=3_600, help="Seconds after which a record that arrives is late.")
]
Timeout = Annotated[
    float,
    Option(
        min=1,
        max=3_600,
        help="Seconds after which a record that has not arrived is lost. Arrived ones are looked at"
        " once more after it.",
    ),
]
Endpoint = Annotated[
    str,
    Option(
        envvar="SEGPLANE_OTLP_ENDPOINT",
        help=f"OTLP/HTTP address of a collector; unset: of `segplane dev`, or {DEFAULT_OTLP}.",
    ),
]
GatewayToken = Annotated[
    str,
    Option(envvar="SEGPLANE_GATEWAY_TOKEN", help="Access token for the gateway, of a reader."),
]
MetricsPort = Annotated[int, Option(min=0, max=65_535, help="Port of Prometheus metrics; 0: none.")]


@command(app, "canary --every 30")
def canary(
    address: str,
    create: bool = False,
    token: Token = "",
    every: Every = 30.0,
    count: Count = None,
    late: Late = 60.0,
    timeout: Timeout = 300.0,
    dataset: str = "canary",
    endpoint: Endpoint = "",
    gateway: str = "",
    gateway_token: GatewayToken = "",
    state: Path | None = None,
    metrics_port: MetricsPort = 0,
    metrics_host: str = "127.0.0.1",
    as_json: AsJson = False,
    data_dir: DataDir = DEFAULT_DATA_DIR,
) -> None:
    """Send a log record at an interval, and follow each until readers see it once.

    Prints each record that is late, lost, doubled or refused, and percentiles at the end, after
    --count records or on SIGTERM or Ctrl-C. The exit code is 0 if each record arrived in time. It
    needs a dataset of its own: begin with --create, which asks for the rights of an admin.

    Options:
        create: Create the dataset with a day of retention and an ingest token, print it, and end.
        dataset: Dataset that the token's logs go to.
        gateway: Read through the gateway at this URL instead of from meta and the bucket.
        state: File of the records that are not judged, by which the next process continues.
        metrics_host: Address of the port of metrics.
    """
    from segplane.cli.canary.probes import Patience
    from segplane.cli.canary.run import Canary, CanaryPlan
    from segplane.cli.canary.state_file import StateFile

    if create:
        _create(address, dataset)
        return
    _check(token, late, timeout, every)
    reader = _reader(dataset, address, gateway, gateway_token)
    plan = CanaryPlan(every, count, Patience(late, timeout))
    report = _json_report if as_json else _report
    state_file = None if state is None else StateFile(state)
    run = Canary(_target(endpoint, token, address, data_dir), reader, plan, report, state_file)
    _serve_metrics(metrics_host, metrics_port)
    _begin(every, reader.measured, as_json=as_json)
    with _stopped_by_signals() as stopped:
        _end(run.run(stopped), as_json=as_json)


def _create(address: str, dataset: str) -> None:
    """Print the secret of a new ingest token."""
    from segplane.cli.canary.preparation import prepare

    with connect(address) as client:
        print(prepare(client, dataset, dataset))


def _check(token: str, late: float, timeout: float, every: float) -> None:
    from segplane.cli.canary.probes import FOLLOWED_MAX

    if not token:
        raise usage("--token or SEGPLANE_CANARY_TOKEN is needed: `segplane canary --create`")
    if late > timeout:
        raise usage(f"--late is {late:g}, more than --timeout {timeout:g}")
    # A record is held for up to twice the timeout while readings fail.
    if timeout > (most := every * FOLLOWED_MAX / 2):
        raise usage(
            f"--timeout {timeout:g} with --every {every:g} is too many records to follow:"
            f" at most {most:g}, or a longer --every"
        )


def _reader(dataset: str, address: str, gateway: str, gateway_token: str) -> "ProbeReader":
    from segplane.cli.canary.readers import DirectReader, GatewayReader

    if gateway:
        return GatewayReader(dataset, gateway, gateway_token)
    return DirectReader(dataset, address)


def _target(endpoint: str, token: str, address: str, data_dir: Path) -> "OtlpTarget":
    from segplane.cli.delivery import OtlpTarget
    from segplane.stack import addresses

    if not endpoint and (local := addresses.read(data_dir, address)) is not None:
        endpoint = local.otlp_http_url
    return OtlpTarget(endpoint or DEFAULT_OTLP, token)


@contextmanager
def _stopped_by_signals() -> Iterator[threading.Event]:
    """Give an event that SIGTERM and SIGINT set."""
    stopped = threading.Event()
    signals = (signal.SIGTERM, signal.SIGINT)
    former = [signal.signal(number, lambda *_: stopped.set()) for number in signals]
    try:
        yield stopped
    finally:
        for number, handler in zip(signals, former, strict=True):
            signal.signal(number, handler)


def _serve_metrics(host: str, port: int) -> None:
    from meta.process.metrics_address import MetricsAddress
    from meta.process.metrics_port import serve_metrics

    serve_metrics(MetricsAddress(host, port))


def _begin(every: float, measured: str, *, as_json: bool) -> None:
    """Print the cost of a day and what is measured."""
    from segplane.cli.canary.preparation import MERGED_WITHIN_SECS, cost_of

    cost = cost_of(every)
    if as_json:
        _print_json("begun", {"every_secs": every, "measured": measured, "a_day": asdict(cost)})
        return
    print(
        f"a record every {every:g} s, a day: at most {cost.exports:,} exports, {cost.segments:,}"
        f" segments, {size_text(cost.written_bytes)} written; about {cost.requests:,} requests to"
        f" the store while records are merged within {MERGED_WITHIN_SECS} s",
        flush=True,
    )
    print(f"measured: acknowledged is by the collector, {measured}", flush=True)


def _report(report: "ProbeReport") -> None:
    """Print a record that did not arrive once and in time."""
    if report.result == "arrived":
        return
    steps = ", ".join(f"{name} after {seconds:g} s" for name, seconds in report.steps.items())
    copies = f", there {report.copies} times" if report.copies > 1 else ""
    detail = f": {report.detail}" if report.detail else ""
    sent = time_text(report.sent_at_nanos)
    name = f"{report.result}: record {report.number} sent at {sent}"
    print(f"{name}{copies}{', ' * bool(steps)}{steps}{detail}", flush=True)


def _json_report(report: "ProbeReport") -> None:
    _print_json("record", asdict(report) | {"sent_at_nanos": str(report.sent_at_nanos)})


def _end(summary: "CanarySummary", *, as_json: bool) -> None:
    """Print the summary, and exit with 1 if a record did not arrive in time."""
    if as_json:
        _print_json("summary", asdict(summary) | {"ok": not summary.has_failed})
    else:
        _print_summary(summary)
    if summary.has_failed:
        raise Exit(EXIT_REFUSED)


def _print_summary(summary: "CanarySummary") -> None:
    results = ", ".join(f"{number} {name}" for name, number in summary.results.items() if number)
    others = [(summary.followed, "not judged"), (summary.skipped, "skipped")]
    others.append((summary.read_failures, "readings failed"))
    rest_text = "".join(f", {number} {text}" for number, text in others if number)
    print(f"{summary.sent} sent: {results or 'none judged'}{rest_text}")
    for step, values in summary.percentiles.items():
        figures = "  ".join(f"{name} {seconds:.2f} s" for name, seconds in values.items())
        print(f"{step:<13}{figures}")


def _print_json(event: str, content: dict[str, object]) -> None:
    print(json.dumps({"event": event, **content}), flush=True)
