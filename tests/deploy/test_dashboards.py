"""Grafana's dashboards: written by its SDK, with metrics that exist."""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.deploy.selectors import metric_names
from tests.docs.metrics_page import names_on

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "deploy" / "grafana"
PYTHON = ROOT / "build" / "dashboards" / "bin" / "python"
NAMES = ["segplane-datasets", "segplane-meta", "segplane-pipeline", "segplane-workers"]


def test_the_dashboards_are_what_the_sdk_writes(tmp_path: Path) -> None:
    if not PYTHON.exists():
        pytest.skip("no SDK of Grafana: run `make deploy`")

    subprocess.run(
        [PYTHON, "-P", "-m", "segplane.deploy.dashboards", tmp_path],
        env={"PYTHONPATH": str(ROOT)},
        check=True,
    )

    assert sorted(path.stem for path in FOLDER.iterdir()) == NAMES
    for path in sorted(FOLDER.iterdir()):
        assert path.read_text() == (tmp_path / path.name).read_text(), "stale: run make deploy"


@pytest.mark.parametrize("name", NAMES)
def test_a_panel_has_a_description_and_queries_of_its_installation(name: str) -> None:
    dashboard = json.loads((FOLDER / f"{name}.json").read_text())

    assert dashboard["uid"] == name
    panels = list(_panels(dashboard))
    assert len(panels) >= 10
    for panel in panels:
        assert panel["description"].endswith("."), panel["title"]
        for target in panel["targets"]:
            assert 'installation=~"$installation"' in target["expr"], panel["title"]


@pytest.mark.parametrize("name", NAMES)
def test_a_query_reads_metrics_of_the_page(name: str) -> None:
    names = set().union(*names_on((ROOT / "docs" / "metrics.md").read_text()).values())
    dashboard = json.loads((FOLDER / f"{name}.json").read_text())

    for panel in _panels(dashboard):
        for target in panel["targets"]:
            metrics = {re.sub("_(bucket|sum|count)$", "", m) for m in metric_names(target["expr"])}
            assert metrics <= {*names, "up"}, panel["title"]


def _panels(dashboard: dict[str, Any]) -> Iterator[dict[str, Any]]:
    return (panel for panel in dashboard["panels"] if panel["type"] != "row")
