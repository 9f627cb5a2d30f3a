"""The profile `observability`: an OpenTelemetry Collector, Prometheus and Grafana."""

from segplane.deploy.compose.addresses import CA_FILE, CERTIFICATES
from segplane.deploy.compose.services import CERTIFICATE, Service, metrics_targets, published
from segplane.deploy.compose.settings import Secret
from segplane.deploy.images import IMAGES
from segplane.deploy.processes import Process
from segplane.deploy.yaml_text import Yaml

PROFILE = "observability"
OTLP_PORTS = (14317, 14318)
PROMETHEUS_PORT, GRAFANA_PORT = 9090, 3000
# Beside the files that this package writes, below deploy/.
_FOLDER = "./deploy/compose"
_ETC = "/etc/grafana/provisioning"


def services(secret: Secret) -> dict[str, Service]:
    """Return the services of the profile, by their names."""
    return {
        "otel-collector": {
            **_common("otel-collector", "512m"),
            # Sends with an ingest token, which exists once the others run.
            "environment": {
                "SEGPLANE_INGEST_TOKEN": "${SEGPLANE_INGEST_TOKEN:-}",
                "SEGPLANE_OTLP_HTTP": "http://collector:4318",
                "OTLP_GRPC_LISTEN": f"0.0.0.0:{OTLP_PORTS[0]}",
                "OTLP_HTTP_LISTEN": f"0.0.0.0:{OTLP_PORTS[1]}",
            },
            "command": ["--config=/etc/otel-collector.yaml"],
            "volumes": ["./docs/otel-collector.yaml:/etc/otel-collector.yaml:ro"],
            "ports": published(*OTLP_PORTS),
        },
        "prometheus": {
            **_common("prometheus", "2g"),
            "depends_on": {CERTIFICATE: {"condition": "service_completed_successfully"}},
            "command": [
                "--config.file=/etc/prometheus/prometheus.yml",
                "--storage.tsdb.path=/prometheus",
            ],
            "volumes": [
                f"{_FOLDER}/prometheus.yml:/etc/prometheus/prometheus.yml:ro",
                "./deploy/prometheus.rules.yml:/etc/prometheus/prometheus.rules.yml:ro",
                f"certificates:{CERTIFICATES}:ro",
                "metrics:/prometheus",
            ],
            "ports": published(PROMETHEUS_PORT),
        },
        "grafana": {
            **_common("grafana", "1g"),
            "environment": {"GF_SECURITY_ADMIN_PASSWORD": secret("SEGPLANE_GRAFANA_PASSWORD")},
            "volumes": [
                f"{_FOLDER}/grafana-datasources.yml:{_ETC}/datasources/segplane.yml:ro",
                f"{_FOLDER}/grafana-dashboards.yml:{_ETC}/dashboards/segplane.yml:ro",
                "./deploy/grafana:/var/lib/segplane-dashboards:ro",
                "dashboards:/var/lib/grafana",
            ],
            "ports": published(GRAFANA_PORT),
        },
    }


def prometheus() -> dict[str, Yaml]:
    """Return the configuration of Prometheus: one target for each process."""
    targets: list[Yaml] = [
        {
            "targets": [address],
            "labels": {
                "installation": "compose",
                "process": process.value,
                # The certificate of the gateway's port is that of its metrics, too.
                "__scheme__": "https" if process is Process.GATEWAY else "http",
            },
        }
        for process, address in metrics_targets().items()
    ]
    return {
        "global": {"scrape_interval": "15s"},
        "rule_files": ["prometheus.rules.yml"],
        "scrape_configs": [
            {"job_name": "segplane", "tls_config": {"ca_file": CA_FILE}, "static_configs": targets}
        ],
    }


def grafana_datasources() -> dict[str, Yaml]:
    """Return Grafana's provisioning of the Prometheus."""
    return {
        "apiVersion": 1,
        "datasources": [
            {
                "name": "Prometheus",
                "type": "prometheus",
                "access": "proxy",
                "url": f"http://prometheus:{PROMETHEUS_PORT}",
                "isDefault": True,
            }
        ],
    }


def grafana_dashboards() -> dict[str, Yaml]:
    """Return Grafana's provisioning of our dashboards."""
    return {
        "apiVersion": 1,
        "providers": [
            {
                "name": "segplane",
                "type": "file",
                "folder": "Segplane",
                "options": {"path": "/var/lib/segplane-dashboards"},
            }
        ],
    }


def _common(image: str, memory: str) -> Service:
    return {
        "image": IMAGES[image].reference,
        "profiles": [PROFILE],
        "restart": "unless-stopped",
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges:true"],
        "mem_limit": memory,
    }
