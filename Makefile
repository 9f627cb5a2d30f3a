# Everything here needs Python 3.11+, Java 17+ and make; the rest is installed into .venv.
SHELL := /bin/bash
.DEFAULT_GOAL := help
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3; do \
	command -v $$p >/dev/null 2>&1 && $$p -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
UV := $(BIN)/uv
COMPILE := $(UV) pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes --no-annotate --no-header -q
GROUP := $(UV) pip compile --universal --python-version 3.11 --generate-hashes --no-annotate --no-header -q
PROTOS := $(wildcard protos/meta/v1/*.proto) $(wildcard protos/segments/v1/*.proto)
PACKAGES := meta segments collector nursery merge_worker janitor segplane

.PHONY: help setup lock demo test test-slow cluster lint format type gen gen-check tools bench bench-peers soak clean

help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-12s %s\n", $$1, $$2}'

setup: $(READY) ## Make .venv from the lock files (hash-checked) and install the project into it

$(READY): requirements/build.lock requirements/dev.lock pyproject.toml
	@test -n "$(PYTHON)" || { echo "make setup: no Python 3.11 or newer with venv found; install python3.11 and python3.11-venv, or pass PYTHON=/path/to/python" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/build.lock
	@$(UV) pip install --quiet --python $(BIN)/python --no-build-isolation --require-hashes -r requirements/dev.lock
	@$(UV) pip install --quiet --python $(BIN)/python --no-build-isolation --no-deps -e .
	@touch $@

lock: ## Resolve the lock files anew
	$(COMPILE) --upgrade --extra all --group dev -o requirements/dev.lock
	$(COMPILE) --extra all --constraint requirements/dev.lock -o requirements/all.lock
	$(GROUP) --upgrade --group bench --constraint requirements/dev.lock -o requirements/bench.lock
	$(GROUP) --upgrade --group iceberg -o requirements/iceberg.lock
	$(UV) pip compile --upgrade --group build --universal --python-version 3.11 --generate-hashes --no-annotate --no-header -q -o requirements/build.lock

demo: $(READY) ## The main job on real input, start to finish; exit code 0 only if it all held
	$(BIN)/segplane demo

# Two workers: the tests with Spark run on one of them, the others on the other.
test: $(READY) ## Unit, service, object-store and end-to-end tests on real parts
	$(BIN)/python -m pytest -n 2 --dist loadscope

test-slow: $(READY) ## The tests that need minutes each
	$(BIN)/python -m pytest -m slow

cluster: $(READY) ## A Spark standalone cluster of two workers on this machine, until Ctrl-C
	@$(BIN)/python -m tests.support.cluster.standalone

lint: $(READY) gen-check ## ruff, sizes, documentation, mypy --strict, import contracts, buf lint and breaking
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/python -m pytest -q --no-header --noconftest -p no:cacheprovider tests/style tests/docs
	$(BIN)/mypy $(PACKAGES) tests benchmarks
	$(BIN)/lint-imports --no-logo
	$(BIN)/buf lint
	$(BIN)/buf format -d --exit-code
	$(BIN)/buf breaking --against tests/contract/baseline.binpb

format: $(READY) ## Format Python and protos
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(BIN)/buf format -w

type: $(READY) ## mypy --strict alone
	$(BIN)/mypy $(PACKAGES) tests benchmarks

gen: $(READY) ## Generate the committed stubs from protos/
	$(BIN)/python -m grpc_tools.protoc -I protos --plugin=protoc-gen-mypy=$(BIN)/protoc-gen-mypy --plugin=protoc-gen-mypy_grpc=$(BIN)/protoc-gen-mypy_grpc \
		--python_out=$(or $(OUT),.) --grpc_python_out=$(or $(OUT),.) --mypy_out=quiet:$(or $(OUT),.) --mypy_grpc_out=quiet,generate_concrete_servicer_stubs:$(or $(OUT),.) $(wildcard protos/meta/v1/*.proto)
	$(BIN)/python -m grpc_tools.protoc -I protos --plugin=protoc-gen-mypy=$(BIN)/protoc-gen-mypy \
		--python_out=$(or $(OUT),.) --mypy_out=quiet:$(or $(OUT),.) $(wildcard protos/segments/v1/*.proto)

gen-check: $(READY) ## Prove that the stubs are what protos/ generates and the base requirements what they demand
	@rm -rf build/gen && mkdir -p build/gen && $(MAKE) --no-print-directory -s gen OUT=build/gen
	@for d in meta/v1 segments/v1; do diff -rq -x __init__.py -x __pycache__ -x py.typed build/gen/$$d $$d || { echo "stubs in $$d are stale: run make gen" >&2; exit 1; }; done
	@$(BIN)/python -m pytest -q --no-header --noconftest -p no:cacheprovider tests/contract/test_base_requirements.py

# Foreign clients and an S3 server that the tests use where they are present; versions are checked by Go's checksum database.
TOOLS := build/tools
GRPCURL := github.com/fullstorydev/grpcurl/cmd/grpcurl@v1.9.4
TELEMETRYGEN := github.com/open-telemetry/opentelemetry-collector-contrib/cmd/telemetrygen@v0.161.0
VERSITYGW := github.com/versity/versitygw/cmd/versitygw@v1.8.0

tools: $(TOOLS)/grpcurl $(TOOLS)/telemetrygen $(TOOLS)/versitygw ## Fetch grpcurl, telemetrygen and the S3 server versitygw for the tests (needs go)

$(TOOLS)/grpcurl: MODULE := $(GRPCURL)
$(TOOLS)/telemetrygen: MODULE := $(TELEMETRYGEN)
$(TOOLS)/versitygw: MODULE := $(VERSITYGW)
$(TOOLS)/grpcurl $(TOOLS)/telemetrygen $(TOOLS)/versitygw: Makefile
	@if command -v go >/dev/null; then mkdir -p $(TOOLS) && cd $(TOOLS) && GOBIN="$$PWD" go install $(MODULE) && touch $(notdir $@); \
	else echo "make tools: no go found, so tests with $(notdir $@) are skipped" >&2; fi

# What the benchmarks compare with. Iceberg's runtime is for one Spark, which is not ours.
PEERS := build/bench
ICEBERG := iceberg-spark-runtime-4.0_2.13
ICEBERG_VERSION := 1.11.0
ICEBERG_SHA256 := 63c3b812549dc232c1920865ff42436df8604a9bbacd693930985c06bd97e6dc

bench-peers: $(PEERS)/libraries/.ready $(PEERS)/iceberg/.ready $(PEERS)/iceberg.jar ## Install what the benchmarks compare with below build/bench

$(PEERS)/libraries/.ready: requirements/bench.lock
$(PEERS)/iceberg/.ready: requirements/iceberg.lock
$(PEERS)/%/.ready: $(READY)
	@mkdir -p $(PEERS) && test -x $(@D)/bin/python || $(BIN)/python -m venv $(@D)
	@$(UV) pip install --quiet --python $(@D)/bin/python --no-build-isolation --require-hashes -r requirements/build.lock
	@$(UV) pip install --quiet --python $(@D)/bin/python --no-build-isolation --require-hashes -r $(filter requirements/%,$^)
	@touch $@

$(PEERS)/iceberg.jar: Makefile
	@if command -v mvn >/dev/null; then mkdir -p $(PEERS) \
		&& mvn -q -B dependency:copy -Dartifact=org.apache.iceberg:$(ICEBERG):$(ICEBERG_VERSION) -DoutputDirectory="$$PWD/$(PEERS)" \
		&& echo "$(ICEBERG_SHA256)  $(PEERS)/$(ICEBERG)-$(ICEBERG_VERSION).jar" | sha256sum -c --quiet \
		&& mv $(PEERS)/$(ICEBERG)-$(ICEBERG_VERSION).jar $@ && touch $@; \
	else echo "make bench-peers: no mvn found, so Iceberg is not measured" >&2; fi

bench: $(READY) bench-peers ## Benchmarks; exits non-zero if a bar does not hold
	$(BIN)/python -m benchmarks

soak: $(READY) ## A steady load for SOAK_MINUTES (30); fails on growth, loss, or a bar that does not hold
	$(BIN)/python -m benchmarks.soak

clean: ## Remove what the targets made
	rm -rf $(VENV) build .pytest_cache .mypy_cache .ruff_cache
