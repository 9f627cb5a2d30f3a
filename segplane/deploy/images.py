"""Images of others, each with the digest that a public file states for a named release.

None was pulled here, where no registry of images is: whoever pulls one has its digest checked by
the engine. The digests are of indexes for several platforms.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Image:
    """An image by its name, release and digest, and the public file that states the digest."""

    name: str
    digest: str
    source: str

    @property
    def reference(self) -> str:
        """The name by which an engine pulls it."""
        return f"{self.name}@sha256:{self.digest}"


IMAGES: Mapping[str, Image] = {
    # Base of our images, in the Dockerfile.
    "python": Image(
        "python:3.11-slim-bookworm",
        "a36c24f9cbdf4fd0f52d67f0823eeac19c2028c637cecc392d97f980d4fec56b",
        "image lists of its publisher, docker-library",
    ),
    # Builds the store's program, in the Dockerfile.
    "golang": Image(
        "golang:1.25-bookworm",
        "3b4a11519ad929d1e1d261a12cff056f0c85b735253d7d861346b9c6f8b36437",
        "github.com/kondukto-io/kntrl, Dockerfile",
    ),
    "postgres": Image(
        "postgres:18",
        "86c951e05bf56c93d95d397747fb8820ac76cc3bedb78f43abd83eedbe3666ae",
        "image lists of its publisher, docker-library",
    ),
    "otel-collector": Image(
        "otel/opentelemetry-collector-contrib:0.161.0",
        "fd328de2552466ad78385e1b1289c3f2402b1c45f265b252aab1955b42845ac1",
        "a note of 2026-09-20 in a public repository, 'Langfuse v4 stack upgrade'",
    ),
    "prometheus": Image(
        "prom/prometheus:v3.15.0",
        "efd719c99d83b060d9daefdcf00360461adf279f45ef5391f8d111892118753e",
        "several public files, for docker.io and quay.io alike",
    ),
    "grafana": Image(
        "grafana/grafana:12.1.1",
        "a1701c2180249361737a99a01bc770db39381640e4d631825d38ff4535efa47d",
        "several public files",
    ),
}
