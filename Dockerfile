# Two images: `services` for meta, collector, janitor, gateway and the command line, and `spark`,
# which adds Java and Spark, for nursery and merge_worker. A third, `store`, has VersityGW, an S3
# server, for docker-compose.yml. All run as another user than root, from
# a read-only file system with a writable /tmp, and have neither compilers nor an installer. Base
# images are named by the digest of their multi-platform index. To renew one, take the digest that
# `docker buildx imagetools inspect python:3.11-slim-bookworm` prints.
FROM python:3.11-slim-bookworm@sha256:a36c24f9cbdf4fd0f52d67f0823eeac19c2028c637cecc392d97f980d4fec56b AS build

WORKDIR /build
COPY requirements/build.lock requirements/all.lock requirements/
# The environment has no pip of its own.
RUN pip install --no-cache-dir --require-hashes -r requirements/build.lock \
    && uv venv /opt/segplane
ENV VIRTUAL_ENV=/opt/segplane
RUN uv pip install --no-cache --require-hashes -r requirements/build.lock \
    && uv pip install --no-cache --no-build-isolation --require-hashes -r requirements/all.lock

COPY pyproject.toml README.md LICENSE ./
COPY distributions distributions
COPY segments segments
COPY kql kql
COPY meta meta
COPY dataplane dataplane
COPY collector collector
COPY nursery nursery
COPY merge_worker merge_worker
COPY janitor janitor
COPY segplane segplane
COPY pyspark_segplane pyspark_segplane
RUN uv pip install --no-cache --no-build-isolation --no-deps . ./distributions/server \
    && uv pip uninstall editables hatchling setuptools uv wheel \
    && python -m compileall -q /opt/segplane/lib

FROM build AS build-services
RUN uv pip uninstall pyspark py4j

FROM python:3.11-slim-bookworm@sha256:a36c24f9cbdf4fd0f52d67f0823eeac19c2028c637cecc392d97f980d4fec56b AS runtime
RUN python -m pip uninstall --yes pip setuptools wheel \
    && useradd --uid 10001 --no-create-home --home-dir /tmp --shell /usr/sbin/nologin segplane \
    && install --directory --owner=10001 --group=10001 /certificates /data
ENV PATH=/opt/segplane/bin:$PATH PYTHONDONTWRITEBYTECODE=1 HOME=/tmp
# All that a process writes is below /tmp; volumes are mounted at /certificates and /data.
WORKDIR /tmp
CMD ["segplane", "--help"]

# The version that tests run against, in the Makefile; Go checks it by its checksum database.
FROM golang:1.25-bookworm@sha256:3b4a11519ad929d1e1d261a12cff056f0c85b735253d7d861346b9c6f8b36437 AS build-store
RUN CGO_ENABLED=0 go install github.com/versity/versitygw/cmd/versitygw@v1.8.0

FROM runtime AS store
COPY --from=build-store /go/bin/versitygw /usr/local/bin/versitygw
USER 10001:10001

FROM runtime AS services
COPY --from=build-services /opt/segplane /opt/segplane
USER 10001:10001

FROM runtime AS spark
# Spark needs a Java runtime; nothing else here does.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends openjdk-17-jre-headless \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build /opt/segplane /opt/segplane
USER 10001:10001
