"""The tables of docs/metrics.md, from the definitions of the metrics: `make gen`.

The page's prose is written by hand. Each table stands between the marks of its name.
"""

import importlib
import re
import sys
from collections.abc import Iterable
from pathlib import Path

from prometheus_client import REGISTRY, CollectorRegistry, Metric
from prometheus_client.metrics import MetricWrapperBase

from meta import metrics, process_metrics
from segplane.cli.canary import metrics as canary_metrics
from segplane.deploy.alerts import ALERTS
from segplane.deploy.alerts.alert import Alert
from segplane.deploy.alerts.objectives import LATENESS, LATENESS_EXPRESSION
from segplane.fsck import metrics as fsck_metrics

DOCS = Path(__file__).parents[2] / "docs"
# Modules that define the metrics of a process outside `meta.metrics`.
_DEFINITIONS = ("meta.status_metrics", "nursery.metrics", "segplane.gateway.http.metrics")
# Metrics of commands, beside those of services.
COMMANDS = ("canary", "fsck")
_UNITS = ("timestamp_seconds", "seconds", "bytes")
_HEAD = "| Metric | Type, unit | Labels | Value, and a rise | Alert |\n|---|---|---|---|---|\n"
_LIBRARY = re.compile("process_|python_")


def tables() -> dict[str, str]:
    """Return the table of each service, of all services, and of the metrics of the library."""
    for module in _DEFINITIONS:
        importlib.import_module(module)
    common = _metrics_of(process_metrics.registry())
    services = {service: _metrics_of(registry) for service, registry in metrics.REGISTRIES.items()}
    written = {
        service: _table(row for name, row in rows.items() if name not in common)
        for service, rows in services.items()
    }
    families = (family for family in REGISTRY.collect() if _LIBRARY.match(family.name))
    library = (_row(family, _labels_seen(family)) for family in families)
    of_commands = {
        "canary": _rows(
            [
                canary_metrics.RECORDS,
                canary_metrics.SECONDS,
                canary_metrics.ARRIVED_AT,
                canary_metrics.READ_FAILURES,
            ]
        ),
        "fsck": _rows([fsck_metrics.PROBLEMS, fsck_metrics.FINISHED_AT]),
    }
    written |= {name: _table(rows.values()) for name, rows in of_commands.items()}
    return {**written, "every": _table(common.values()), "library": _table(library)}


def page(text: str) -> str:
    """Return the page with its tables as the definitions have them."""
    for name, table in tables().items():
        mark = re.compile(f"(?<=<!-- {name} -->).*(?=<!-- /{name} -->)", re.DOTALL)
        text = mark.sub(f"\n\n{table}\n".replace("\\", r"\\"), text)
    return text


def names_on(text: str) -> dict[str, set[str]]:
    """Return the names of the metrics in each table of the page."""
    tables_in = re.findall(r"<!-- (\w+) -->(.*)<!-- /\1 -->", text, re.DOTALL)
    return {name: set(re.findall(r"^\| `(\w+)`", table, re.MULTILINE)) for name, table in tables_in}


def _metrics_of(registry: CollectorRegistry) -> dict[str, str]:
    """Return the row of each metric of a registry by its name."""
    return _rows(registry._collector_to_names)


def _rows(collectors: Iterable[object]) -> dict[str, str]:
    rows = {}
    for collector in collectors:
        assert isinstance(collector, MetricWrapperBase)
        for family in collector.describe():
            rows[family.name] = _row(family, collector._labelnames)
    return dict(sorted(rows.items()))


def _labels_seen(family: Metric) -> Iterable[str]:
    return dict.fromkeys(name for sample in family.samples for name in sample.labels)


def _row(family: Metric, labels: Iterable[str]) -> str:
    name = family.name + ("_total" if family.type == "counter" else "")
    unit = next((unit for unit in _UNITS if family.name.endswith(f"_{unit}")), "number")
    unit = "Unix time" if unit == "timestamp_seconds" else unit
    cells = (
        f"`{name}`",
        f"{family.type}, {unit}",
        ", ".join(f"`{label}`" for label in labels),
        family.documentation,
        ", ".join(_alerts(family.name)),
    )
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _table(rows: Iterable[str]) -> str:
    return _HEAD + "\n".join(rows)


def _alerts(name: str) -> list[str]:
    """Return links to the alerts that use a metric."""
    uses = re.compile(rf"\b{name}(_total|_bucket|_sum|_count)?\b")
    return [
        f"[{a.name}](alerts.md#{a.anchor})" for a in ALERTS if uses.search(_metrics_of_alert(a))
    ]


def _metrics_of_alert(alert: Alert) -> str:
    """Return the condition with the expressions that it has recorded."""
    return alert.condition.replace(LATENESS, LATENESS_EXPRESSION)


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(page(path.read_text()))
