"""Writes the compose files and what they mount below a folder, for `make deploy`."""

import sys
from collections.abc import Mapping
from pathlib import Path

from segplane.deploy.compose import observability, services
from segplane.deploy.compose.settings import Secret, required, trial
from segplane.deploy.yaml_text import Yaml, yaml_text

_WRITTEN = "# Written by `make deploy` from segplane/deploy: do not edit.\n"
MAIN, TRIAL = "docker-compose.yml", "docker-compose.trial.yml"
_HEADS = {
    MAIN: """\
# All processes over Postgres and VersityGW, an S3 store; docs/compose.md says how to run them.
# Every port is published on this machine's loopback only. Other settings of the processes may be in
# a file settings.env beside this one, and the secrets in a file .env.
""",
    TRIAL: """\
# The same as docker-compose.yml with secrets that everybody knows, for a trial on one machine:
#
#   export COMPOSE_FILE=docker-compose.trial.yml
#   docker compose up --build --detach
#   docker compose exec meta segplane tokens create first --dataset default
""",
}


def files() -> Mapping[str, str]:
    """Return the content of each file by its path."""
    folder = "deploy/compose"
    return {
        MAIN: f"{_HEADS[MAIN]}{_WRITTEN}{yaml_text(_compose(required))}",
        TRIAL: f"{_HEADS[TRIAL]}{_WRITTEN}{yaml_text(_compose(trial))}",
        f"{folder}/prometheus.yml": _WRITTEN + yaml_text(observability.prometheus()),
        f"{folder}/grafana-datasources.yml": _WRITTEN
        + yaml_text(observability.grafana_datasources()),
        f"{folder}/grafana-dashboards.yml": _WRITTEN
        + yaml_text(observability.grafana_dashboards()),
    }


def _compose(secret: Secret) -> dict[str, Yaml]:
    volumes = ("catalog", "records", "certificates", "metrics", "dashboards")
    return {
        "name": "segplane",
        "services": {**services.of_installation(secret), **observability.services(secret)},
        "volumes": {name: {} for name in volumes},
    }


def main(folder: Path) -> None:
    """Write them."""
    for name, text in files().items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
