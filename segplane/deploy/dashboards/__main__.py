"""`python -m segplane.deploy.dashboards FOLDER` writes the dashboards as JSON."""

import sys
from pathlib import Path

from segplane.deploy.dashboards import grafana
from segplane.deploy.dashboards.datasets import DATASETS
from segplane.deploy.dashboards.meta import META
from segplane.deploy.dashboards.pipeline import PIPELINE
from segplane.deploy.dashboards.workers import WORKERS

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    for content in (PIPELINE, META, WORKERS, DATASETS):
        (folder / f"{content.uid}.json").write_text(grafana.json_of(content))
