# One image for every process: `python -m meta`, `collector`, `nursery`, `merge_worker`, `janitor`.
FROM python:3.11-slim-bookworm

# Spark needs a Java runtime; nothing else here does.
RUN apt-get update \
    && apt-get install -y --no-install-recommends openjdk-17-jre-headless \
    && rm -rf /var/lib/apt/lists/*

WORKDIR /opt/segplane
COPY requirements/build.lock requirements/all.lock requirements/
RUN pip install --no-cache-dir --require-hashes -r requirements/build.lock \
    && uv pip install --system --no-cache --no-build-isolation --require-hashes -r requirements/all.lock

COPY pyproject.toml README.md LICENSE ./
COPY distributions distributions
COPY segments segments
COPY meta meta
COPY collector collector
COPY nursery nursery
COPY merge_worker merge_worker
COPY janitor janitor
COPY segplane segplane
COPY pyspark_segplane pyspark_segplane
RUN uv pip install --system --no-cache --no-build-isolation --no-deps . ./distributions/server

RUN useradd --create-home segplane
USER segplane
WORKDIR /home/segplane
CMD ["segplane", "--help"]
