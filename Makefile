# Everything here needs Python 3.11+ and make, and tests with Spark Java 17+; the rest is installed into .venv.
SHELL := /bin/bash
.DEFAULT_GOAL := help
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3; do \
	command -v $$p >/dev/null 2>&1 && $$p -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
UV := $(BIN)/uv
COMPILE := $(UV) pip compile distributions/server/pyproject.toml --no-emit-package segplane --universal --python-version 3.11 --generate-hashes --no-annotate --no-header -q
GROUP := $(UV) pip compile --universal --python-version 3.11 --generate-hashes --no-annotate --no-header -q
PROTOS := $(wildcard protos/meta/v1/*.proto) $(wildcard protos/segments/v1/*.proto)
PACKAGES := meta segments kql dataplane collector nursery merge_worker janitor segplane pyspark_segplane

# Hundreds of processes are started here: each would compile every module that it imports anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup lock demo mutants test test-control test-readers test-long test-slow test-restricted test-scale cluster lint texts format type gen gen-check tools senders sbom audit wheel loadgen bench bench-peers soak torture clean

help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-12s %s\n", $$1, $$2}'

setup: $(READY) ## Make .venv from the lock files (hash-checked) and install the project into it

$(READY): requirements/build.lock requirements/dev.lock pyproject.toml distributions/server/pyproject.toml
	@test -n "$(PYTHON)" || { echo "make setup: no Python 3.11 or newer with venv found; install python3.11 and python3.11-venv, or pass PYTHON=/path/to/python" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/build.lock
	@$(UV) pip install --quiet --python $(BIN)/python --no-build-isolation --require-hashes -r requirements/dev.lock
	@$(UV) pip install --quiet --python $(BIN)/python --no-build-isolation --no-deps -e . -e distributions/server
	@touch $@

lock: ## Resolve the lock files anew
	$(COMPILE) --upgrade --extra all --group pyproject.toml:dev -o requirements/dev.lock
	$(COMPILE) --extra all --constraint requirements/dev.lock -o requirements/all.lock
	$(GROUP) --upgrade --group bench --constraint requirements/dev.lock -o requirements/bench.lock
	$(GROUP) --upgrade --group iceberg -o requirements/iceberg.lock
	$(GROUP) --upgrade --group control -o requirements/control.lock
	$(GROUP) --upgrade --group engines -o requirements/engines.lock
	$(GROUP) pyproject.toml --upgrade --extra read --group notebook -o requirements/notebook.lock
	$(GROUP) --upgrade --group readers -o requirements/readers.lock
	$(GROUP) --upgrade --group audit -o requirements/audit.lock
	$(GROUP) --upgrade --group mutation -o requirements/mutation.lock
	$(GROUP) --upgrade --group dashboards -o requirements/dashboards.lock
	$(GROUP) --upgrade --group readers-spark -o requirements/readers-spark.lock
	$(UV) pip compile --upgrade --group build --universal --python-version 3.11 --generate-hashes --no-annotate --no-header -q -o requirements/build.lock

sbom: $(READY) ## List what a release is made of, and its licences: build/sbom
	$(BIN)/python requirements/bill_of_materials.py build/sbom

# An environment of its own: it is no part of what it looks at.
AUDIT := build/audit

audit: $(AUDIT)/.ready ## Look every locked package up among known vulnerabilities; fails where the index does not tell
	@rm -f $(AUDIT)/report.json
	-@$(AUDIT)/bin/pip-audit -r requirements/all.lock --require-hashes --disable-pip --progress-spinner off -f json -o $(AUDIT)/report.json 2>/dev/null
	@$(BIN)/python requirements/audit.py $(AUDIT)/report.json

$(AUDIT)/.ready: requirements/audit.lock $(READY)
	@mkdir -p $(AUDIT) && test -x $(@D)/bin/python || $(BIN)/python -m venv $(@D)
	@$(UV) pip install --quiet --python $(@D)/bin/python --require-hashes -r requirements/audit.lock
	@touch $@

wheel: $(READY) ## Build both wheels into build/dist, to the same bytes every time
	$(BIN)/python -m hatchling build -t wheel -d build/dist
	cd distributions/server && $(CURDIR)/$(BIN)/python -m hatchling build -t wheel -d $(CURDIR)/build/dist

# Signatures of OpenSSH: they need no network, and a key may live on a hardware token.
DIST := build/dist
SIGN_NAMESPACE := segplane-release

.PHONY: images sign verify
images: ## Build the container images as OCI archives in build/dist, with provenance and a bill of materials (needs docker with buildx)
	@command -v docker >/dev/null || { echo "make images: no docker found; install Docker with buildx" >&2; exit 2; }
	@mkdir -p $(DIST)
	docker buildx build --target services --provenance=mode=max --sbom=true --output type=oci,dest=$(DIST)/segplane.oci.tar .
	docker buildx build --target spark --provenance=mode=max --sbom=true --output type=oci,dest=$(DIST)/segplane-spark.oci.tar .
	docker buildx build --target store --provenance=mode=max --sbom=true --output type=oci,dest=$(DIST)/segplane-store.oci.tar .

# The wheels and the archives of images that lie in the folder.
RELEASED := shopt -s nullglob; files=(*.whl *.oci.tar)

sign: ## Sign the checksums of the wheels and images in build/dist with the SSH key KEY
	@test -n "$(KEY)" || { echo "make sign: pass KEY=/path/to/an/SSH/key" >&2; exit 2; }
	@rm -f $(DIST)/SHA256SUMS.sig
	@cd $(DIST) && $(RELEASED) && test $${#files[@]} -gt 0 || { echo "make sign: $(DIST) holds no wheel and no image" >&2; exit 2; }
	cd $(DIST) && $(RELEASED) && sha256sum -- "$${files[@]}" > SHA256SUMS
	ssh-keygen -q -Y sign -f "$(KEY)" -n $(SIGN_NAMESPACE) $(DIST)/SHA256SUMS

verify: ## Verify signature and checksums of the wheels and images in build/dist: SIGNERS=allowed_signers SIGNER=name
	@test -n "$(SIGNERS)" -a -n "$(SIGNER)" || { echo "make verify: pass SIGNERS=/path/to/allowed_signers and SIGNER=name" >&2; exit 2; }
	ssh-keygen -Y verify -f "$(SIGNERS)" -I "$(SIGNER)" -n $(SIGN_NAMESPACE) -s $(DIST)/SHA256SUMS.sig < $(DIST)/SHA256SUMS
	cd $(DIST) && sha256sum --check --strict SHA256SUMS
	@cd $(DIST) && $(RELEASED) && for file in "$${files[@]}"; do cut -c 67- SHA256SUMS | grep -qxF -- "$$file" || { echo "make verify: $$file is not signed" >&2; exit 1; }; done

demo: $(READY) ## The main job on real input, start to finish; exit code 0 only if it all held
	$(BIN)/segplane demo

# `make lint` runs these, which look at texts alone.
LINTED := tests/style tests/docs

# A worker more than cores, because tests also wait; the tests with Spark run on one. A worker that hangs
# where no signal reaches it shows its stacks and ends; that test has failed, and the others go on.
test: $(READY) ## Unit, service, object-store and end-to-end tests on real parts
	$(BIN)/python -m pytest -n 3 --dist loadscope $(addprefix --ignore=,$(LINTED)) -o faulthandler_timeout=620 -o faulthandler_exit_on_timeout=true

# The two halves of `make test`: what reads datasets, and all else.
READERS_TESTS := tests/kql $(addprefix tests/segplane/,gateway query read)

test-control: $(READY) ## The half of the tests that is about the control plane and the processes
	$(BIN)/python -m pytest -n 3 --dist loadscope $(addprefix --ignore=,$(READERS_TESTS) $(LINTED))

test-readers: $(READY) ## The half of the tests that is about readers: KQL, queries, segplane.read, the gateway
	$(BIN)/python -m pytest -n 3 --dist loadscope $(READERS_TESTS)

test-long: $(READY) ## The tests that need several seconds each, and tables with all their cases
	ALL_EXAMPLES=1 $(BIN)/python -m pytest -n 3 --dist loadscope -m "long and not slow and not scale and not readers and not browser and not alerts" $(addprefix --ignore=,$(LINTED))

test-slow: $(READY) ## The tests that need minutes each, and the property tests with all their examples
	ALL_EXAMPLES=1 $(BIN)/python -m pytest -m "slow or (hypothesis and not scale and not readers and not browser and not alerts)"

test-restricted: $(READY) ## The tests of meta and its contract with meta as the Postgres role that may only serve
	$(BIN)/python -m pytest -n 3 --dist loadscope --restricted-role tests/meta tests/contract tests/property

.PHONY: test-alerts
test-alerts: prometheus ## The alerts of deploy/, each fired by its cause in a real Prometheus over a running stack (25 minutes)
	$(BIN)/python -m pytest -m alerts tests/deploy

# Mutants are made by the operators of Cosmic Ray, in an environment of its own; our own driver draws
# the sample and gives each mutant the tests that run its line, by Coverage.
MUTATION := build/mutation
SAMPLE ?= 600
SEED ?= 1

mutants: $(READY) $(MUTATION)/.ready ## Change SAMPLE (600) places of the code, drawn by SEED, and list the changes that no test notices (goes on where it was interrupted; FRESH=1 starts anew)
	nice -n 19 $(BIN)/python -m tests.support.mutation --sample $(SAMPLE) --seed $(SEED) $(if $(FRESH),--fresh)

$(MUTATION)/.ready: requirements/mutation.lock $(READY)
	@test -x $(@D)/bin/python || $(BIN)/python -m venv $(@D)
	@$(UV) pip install --quiet --python $(@D)/bin/python --require-hashes -r requirements/mutation.lock
	@touch $@

test-scale: $(READY) ## Hot calls and jobs over 10 million segments; META_SCALE_PERCENT makes it smaller
	$(BIN)/python -m pytest -s -m scale tests/meta/test_scale.py

cluster: $(READY) ## A Spark standalone cluster of two workers on this machine, until Ctrl-C
	@$(BIN)/python -m tests.support.cluster.standalone

lint: $(READY) gen-check console-check ## ruff, sizes, documentation, mypy --strict, import contracts, buf lint and breaking
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	@$(MAKE) --no-print-directory --jobs 2 --output-sync=target type texts

texts: $(READY) ## Sizes, documentation, import contracts, buf lint and breaking: lint without ruff and mypy
	$(BIN)/python -m pytest -q --no-header --noconftest -p no:cacheprovider tests/style tests/docs
	$(BIN)/lint-imports --no-logo
	$(BIN)/python -m tests.style.code_lines
	$(BIN)/buf lint
	$(BIN)/buf format -d --exit-code
	$(BIN)/buf breaking --against tests/contract/baseline.binpb

format: $(READY) ## Format Python and protos
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(BIN)/buf format -w

type: $(READY) ## mypy --strict alone
	$(BIN)/mypy $(PACKAGES) distributions tests benchmarks

gen: $(READY) ## Generate the committed stubs from protos/
	$(BIN)/python -m grpc_tools.protoc -I protos --plugin=protoc-gen-mypy=$(BIN)/protoc-gen-mypy --plugin=protoc-gen-mypy_grpc=$(BIN)/protoc-gen-mypy_grpc \
		--python_out=$(or $(OUT),.) --grpc_python_out=$(or $(OUT),.) --mypy_out=quiet:$(or $(OUT),.) --mypy_grpc_out=quiet,generate_concrete_servicer_stubs:$(or $(OUT),.) $(wildcard protos/meta/v1/*.proto)
	$(BIN)/python -m grpc_tools.protoc -I protos --plugin=protoc-gen-mypy=$(BIN)/protoc-gen-mypy \
		--python_out=$(or $(OUT),.) --mypy_out=quiet:$(or $(OUT),.) $(wildcard protos/segments/v1/*.proto)
	$(if $(OUT),,$(BIN)/python -m tests.docs.kql_page docs/kql.md)
	$(if $(OUT),,$(BIN)/python -m tests.docs.metrics_page docs/metrics.md)
	$(if $(OUT),,$(BIN)/python -m tests.docs.alerts_page docs/alerts.md)
	@mkdir -p build && $(BIN)/python -m grpc_tools.protoc -I protos --include_imports --include_source_info --descriptor_set_out=build/protos.binpb $(wildcard protos/meta/v1/*.proto)
	$(if $(OUT),,$(BIN)/python -m segplane.gateway.management.openapi build/protos.binpb segplane/gateway/management/openapi.json)

gen-check: $(READY) ## Prove that the stubs are what protos/ generates and the base requirements what they demand
	@rm -rf build/gen && mkdir -p build/gen && $(MAKE) --no-print-directory -s gen OUT=build/gen
	@for d in meta/v1 segments/v1; do diff -rq -x __init__.py -x __pycache__ -x py.typed build/gen/$$d $$d || { echo "stubs in $$d are stale: run make gen" >&2; exit 1; }; done
	@$(BIN)/python -m pytest -q --no-header --noconftest -p no:cacheprovider tests/contract/test_base_requirements.py

# Scripts of the console: bundled and tested in a copy beside the packages of their lock file.
CONSOLE := segplane/gateway/console
BUNDLE := build/console
VENDORED := $(BUNDLE)/node_modules/htmx.org/dist/htmx.min.js $(addprefix $(BUNDLE)/node_modules/uplot/dist/,uPlot.iife.min.js uPlot.min.css)

.PHONY: console console-check
console: $(BUNDLE)/.bundled ## Bundle the console's scripts, and copy what it serves of htmx and uPlot (needs npm)
	cp $(BUNDLE)/out/console.js $(BUNDLE)/out/query.js $(CONSOLE)/static/
	cp $(VENDORED) $(CONSOLE)/static/vendor/

console-check: ## Prove that the console's bundle is what its sources give, where npm and its registry are
	@if command -v npm >/dev/null && $(MAKE) --no-print-directory -s $(BUNDLE)/.ready; then \
		$(MAKE) --no-print-directory -s $(BUNDLE)/.bundled && for file in $(BUNDLE)/out/console.js $(BUNDLE)/out/query.js $(VENDORED); do \
			diff -q $$file "$$(find $(CONSOLE)/static -name $$(basename $$file))" || { echo "the console's scripts are stale: run make console" >&2; exit 1; }; done; \
	else echo "make console-check: no packages of npm, so the console's scripts are not compared with their sources" >&2; fi

$(BUNDLE)/.ready: $(CONSOLE)/scripts/package-lock.json
	@mkdir -p $(@D) && cp $(CONSOLE)/scripts/package*.json $(@D) && timeout 180 npm ci --prefix $(@D) --silent --no-audit --no-fund --ignore-scripts && touch $@

$(BUNDLE)/.bundled: $(BUNDLE)/.ready $(wildcard $(CONSOLE)/scripts/*.json $(CONSOLE)/scripts/*/*.ts)
	@rm -rf $(addprefix $(BUNDLE)/,src tests out) && cp -r $(CONSOLE)/scripts/. $(BUNDLE) && cd $(BUNDLE) && npm run -s build 2>out.log && npm test -s >>out.log \
		&& touch .bundled || { cat out.log >&2; exit 1; }

# Debian's Chromium, for the tests of the console; `make console` has the rules that they check pages by.
BROWSER := build/browser

.PHONY: browser test-browser screenshots
browser: $(BROWSER)/chromium $(BUNDLE)/.ready ## Unpack Debian's Chromium and fonts below build/browser for the tests (needs apt-get and npm; 420 MB)

$(BROWSER)/chromium: tests/support/browser/install.sh
	@if command -v apt-get >/dev/null; then $< $(@D) && touch $@; \
	else echo "make browser: no apt-get found, so tests with a browser are skipped" >&2; fi

BROWSER_TESTS := tests/segplane/console/browser

test-browser: $(READY) ## The tests of the console in a real browser, where `make browser` unpacked it
	$(BIN)/python -m pytest -m browser $(BROWSER_TESTS)

screenshots: $(READY) browser ## Pictures of the console's pages for docs/console.md, light and dark
	SCREENSHOTS=docs/images $(BIN)/python -m pytest -q -m browser $(BROWSER_TESTS)/test_pictures.py

# Grafana's SDK, in an environment of its own: the product does not need it.
DASHBOARDS := build/dashboards

.PHONY: deploy
deploy: $(READY) $(DASHBOARDS)/.ready ## Render what follows from segplane/deploy: rules, dashboards, policies of buckets, compose files
	$(BIN)/python -m segplane.deploy.rules deploy
	$(BIN)/python -m segplane.deploy.policies docs
	$(BIN)/python -m segplane.deploy.compose .
	PYTHONPATH=. $(DASHBOARDS)/bin/python -P -m segplane.deploy.dashboards deploy/grafana

$(DASHBOARDS)/.ready: requirements/dashboards.lock $(READY)
	@test -x $(@D)/bin/python || $(BIN)/python -m venv $(@D)
	@$(UV) pip install --quiet --python $(@D)/bin/python --require-hashes -r requirements/dashboards.lock
	@touch $@

# Debian's Prometheus and Alertmanager, for the tests of deploy/.
PROMETHEUS := build/prometheus

.PHONY: prometheus
prometheus: $(PROMETHEUS)/prometheus ## Unpack Debian's Prometheus and Alertmanager below build/prometheus for the tests (needs apt-get; 140 MB)

$(PROMETHEUS)/prometheus: tests/support/prometheus/install.sh
	@if command -v apt-get >/dev/null; then $< $(@D) && touch $@; \
	else echo "make prometheus: no apt-get found, so tests with Prometheus are skipped" >&2; fi

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

# Compose's own loader of its files.
COMPOSE_SOURCES := tests/support/compose

.PHONY: compose-check
compose-check: $(TOOLS)/compose-check ## Build the loader of compose files for the tests (needs go)

$(TOOLS)/compose-check: $(wildcard $(COMPOSE_SOURCES)/*)
	@if command -v go >/dev/null; then mkdir -p $(TOOLS) && nice -n 10 go build -C $(COMPOSE_SOURCES) -trimpath -o "$$PWD/$@" .; \
	else echo "make compose-check: no go found, so the schema of compose files is not checked" >&2; fi

# An S3 server whose token service enforces session policies; too long a build for `make tools`.
MINIO := github.com/minio/minio@v0.0.0-20260212201848-7aac2a2c5b7c

# Servers of the protocols of Google Cloud Storage and Azure Blob Storage.
FAKE_GCS := github.com/fsouza/fake-gcs-server@v1.56.1
AZURITE := azurite@3.37.0

.PHONY: clouds
clouds: $(TOOLS)/fake-gcs-server $(TOOLS)/azurite/.ready ## Fetch servers of the protocols of Google Cloud Storage and Azure Blob Storage for the tests (needs go and npm)

$(TOOLS)/fake-gcs-server: Makefile
	@if command -v go >/dev/null; then mkdir -p $(TOOLS) && cd $(TOOLS) && GOBIN="$$PWD" nice -n 10 go install $(FAKE_GCS) && touch $(notdir $@); \
	else echo "make clouds: no go found, so tests with fake-gcs-server are skipped" >&2; fi

$(TOOLS)/azurite/.ready: Makefile
	@if command -v npm >/dev/null; then mkdir -p $(@D) && npm install --prefix $(@D) --silent --no-audit --no-fund --ignore-scripts --no-save $(AZURITE) && touch $@; \
	else echo "make clouds: no npm found, so tests with Azurite are skipped" >&2; fi

.PHONY: minio
minio: $(TOOLS)/minio ## Build the S3 server minio, for the test of the keys that gateways give out (needs go; minutes)

$(TOOLS)/minio: Makefile
	@if command -v go >/dev/null; then mkdir -p $(TOOLS) && cd $(TOOLS) && GOBIN="$$PWD" nice -n 10 go install $(MINIO) && touch $(notdir $@); \
	else echo "make minio: no go found, so tests with minio are skipped" >&2; fi

# Clients of OTLP in other languages, for the table in docs/collector.md; too long a build for `make tools`.
SENDERS := build/senders
SENDER_SOURCES := tests/collector/senders
BUILDER := go.opentelemetry.io/collector/cmd/builder@v0.161.0

senders: $(SENDERS)/otelcol $(SENDERS)/go-sender $(SENDERS)/node/.ready ## Build the OpenTelemetry Collector and SDK senders of the tests (needs go and npm; minutes)

$(SENDERS)/otelcol: $(SENDER_SOURCES)/collector/builder.yaml
	@if command -v go >/dev/null; then mkdir -p $(SENDERS) && nice -n 10 go run $(BUILDER) --config $< && mv $(SENDERS)/collector/otelcol $@; \
	else echo "make senders: no go found, so tests with the OpenTelemetry Collector are skipped" >&2; fi

$(SENDERS)/go-sender: $(wildcard $(SENDER_SOURCES)/go/*)
	@if command -v go >/dev/null; then mkdir -p $(SENDERS) && nice -n 10 go build -C $(SENDER_SOURCES)/go -trimpath -o "$$PWD/$@" .; \
	else echo "make senders: no go found, so tests with OpenTelemetry's Go SDK are skipped" >&2; fi

$(SENDERS)/node/.ready: $(wildcard $(SENDER_SOURCES)/node/*)
	@if command -v npm >/dev/null; then mkdir -p $(@D) && cp $^ $(@D) && npm ci --prefix $(@D) --silent --no-audit --no-fund --ignore-scripts && touch $@; \
	else echo "make senders: no npm found, so tests with OpenTelemetry's Node SDK are skipped" >&2; fi

# Kusto's own analyser of queries, for the names and types in tests/kql/test_official_analyser.py.
ANALYSER := build/tools/analyser

.PHONY: analyser
analyser: $(ANALYSER)/.ready ## Install Kusto's analyser of queries below build/tools for the tests (needs npm)

$(ANALYSER)/.ready: $(wildcard tests/support/kql/analyser/*)
	@if command -v npm >/dev/null; then mkdir -p $(@D) && cp $^ $(@D) && (cd $(@D) && npm ci --silent --no-audit --no-fund --ignore-scripts) && touch $@; \
	else echo "make analyser: no npm found, so tests with Kusto's analyser are skipped" >&2; fi

.PHONY: issuer
issuer: build/issuer/.ready ## Install the OpenID Connect issuer of the console's tests below build/issuer (needs npm)

build/issuer/.ready: tests/support/issuer/package.json tests/support/issuer/package-lock.json
	@if command -v npm >/dev/null; then mkdir -p $(@D) && cp $^ $(@D) && npm ci --prefix $(@D) --silent --no-audit --no-fund --ignore-scripts && touch $@; \
	else echo "make issuer: no npm found, so tests with a real issuer are skipped" >&2; fi

# Query engines of other releases than ours, for tests that are skipped without them.
ENGINES := build/engines

.PHONY: engines
engines: $(ENGINES)/.ready ## Install Spark 3.5 below build/engines for the tests (330 MB)

$(ENGINES)/.ready: $(READY) requirements/engines.lock
	@test -x $(@D)/bin/python || $(BIN)/python -m venv $(@D)
	@$(UV) pip install --quiet --python $(@D)/bin/python --no-build-isolation --require-hashes -r requirements/build.lock
	@$(UV) pip install --quiet --python $(@D)/bin/python --no-build-isolation --require-hashes -r requirements/engines.lock
	@touch $@

# The release before this one, in an environment of its own, for tests of what works beside it.
RELEASES := build/releases/0.3.0/.ready

.PHONY: releases
releases: $(RELEASES) ## Build the release before this one from git below build/releases for the tests (1.1 GB)

$(RELEASES): build/releases/%/.ready: tests/releases/%/COMMIT | $(READY)
	@$(BIN)/python -m tests.support.releases.build $*

# Engines that read tables through the gateway, for `pytest -m readers`. Trino needs Java 24 or newer when it runs.
READERS := build/readers
READERS_ICEBERG := 1.12.0
READERS_TRINO := 476
READERS_JARS := iceberg-spark-runtime-3.5_2.12 iceberg-spark-runtime-4.1_2.13 iceberg-aws-bundle

.PHONY: readers
readers: engines $(READERS)/python/.ready $(READERS)/spark-4.1/.ready $(READERS)/jars/.ready $(READERS)/trino/.ready ## Install the engines that read tables: DuckDB, chDB, Daft, Spark, Trino (5 GB, minutes)

$(READERS)/python/.ready: requirements/readers.lock
$(READERS)/spark-4.1/.ready: requirements/readers-spark.lock
$(READERS)/%/.ready: $(READY)
	@mkdir -p $(READERS) && test -x $(@D)/bin/python || $(BIN)/python -m venv $(@D)
	@$(UV) pip install --quiet --python $(@D)/bin/python --no-build-isolation --require-hashes -r requirements/build.lock
	@$(UV) pip install --quiet --python $(@D)/bin/python --no-build-isolation --require-hashes -r $(filter requirements/%,$^)
	@touch $@

$(READERS)/jars/.ready: requirements/readers.sha256
	@if command -v mvn >/dev/null; then mkdir -p $(@D) && for jar in $(READERS_JARS); do \
		mvn -q -B dependency:copy -Dartifact=org.apache.iceberg:$$jar:$(READERS_ICEBERG) -DoutputDirectory="$$PWD/$(@D)" || exit 1; done \
		&& grep -F .jar $< | (cd $(@D) && sha256sum -c --quiet) && touch $@; \
	else echo "make readers: no mvn found, so tests with Iceberg's runtime for Spark are skipped" >&2; fi

$(READERS)/trino/.ready: requirements/readers.sha256
	@if command -v mvn >/dev/null; then rm -rf $(@D) && mkdir -p $(@D) \
		&& mvn -q -B dependency:copy -Dartifact=io.trino:trino-server:$(READERS_TRINO):tar.gz -DoutputDirectory="$$PWD/$(@D)" \
		&& grep -F .tar.gz $< | (cd $(@D) && sha256sum -c --quiet) \
		&& nice -n 10 tar -xzf $(@D)/trino-server-$(READERS_TRINO).tar.gz -C $(@D) --strip-components=1 && rm $(@D)/*.tar.gz && touch $@; \
	else echo "make readers: no mvn found, so tests with Trino are skipped" >&2; fi

# Systems that the benchmarks compare with. Iceberg's runtime is for one Spark, which is not ours.
PEERS := build/bench
ICEBERG := iceberg-spark-runtime-4.0_2.13
ICEBERG_VERSION := 1.11.0
ICEBERG_SHA256 := 63c3b812549dc232c1920865ff42436df8604a9bbacd693930985c06bd97e6dc

bench-peers: $(PEERS)/libraries/.ready $(PEERS)/iceberg/.ready $(PEERS)/control/.ready $(PEERS)/iceberg.jar ## Install what the benchmarks compare with below build/bench

$(PEERS)/libraries/.ready: requirements/bench.lock
$(PEERS)/iceberg/.ready: requirements/iceberg.lock
$(PEERS)/control/.ready: requirements/control.lock
$(PEERS)/%/.ready: $(READY)
	@mkdir -p $(PEERS) && test -x $(@D)/bin/python || $(BIN)/python -m venv $(@D)
	@$(UV) pip install --quiet --python $(@D)/bin/python --no-build-isolation --require-hashes -r requirements/build.lock
	@$(UV) pip install --quiet --python $(@D)/bin/python --no-build-isolation --require-hashes -r $(filter requirements/%,$^)
	@touch $@

.PHONY: bench-control-peers
bench-control-peers: $(READY) $(PEERS)/control/.ready loadgen ## Publishing a file by us, DuckLake and PyIceberg over the same Postgres
	$(BIN)/python -m benchmarks.control

$(PEERS)/iceberg.jar: Makefile
	@if command -v mvn >/dev/null; then mkdir -p $(PEERS) \
		&& mvn -q -B dependency:copy -Dartifact=org.apache.iceberg:$(ICEBERG):$(ICEBERG_VERSION) -DoutputDirectory="$$PWD/$(PEERS)" \
		&& echo "$(ICEBERG_SHA256)  $(PEERS)/$(ICEBERG)-$(ICEBERG_VERSION).jar" | sha256sum -c --quiet \
		&& mv $(PEERS)/$(ICEBERG)-$(ICEBERG_VERSION).jar $@ && touch $@; \
	else echo "make bench-peers: no mvn found, so Iceberg is not measured" >&2; fi

# The tables of the Collector's exporter for ClickHouse, from its Go module; chDB is among the readers.
CLICKHOUSE_EXPORTER := github.com/open-telemetry/opentelemetry-collector-contrib/exporter/clickhouseexporter
CLICKHOUSE_EXPORTER_VERSION := v0.165.1
CLICKHOUSE_EXPORTER_SUM := h1:4xDMIK3lb8ETo4Q+/MHGSZRrxlHAzSj2mRAfc0KAbOk=

$(PEERS)/clickhouse/.ready: Makefile
	@if command -v go >/dev/null; then mkdir -p $(@D) && cd $(@D) && go mod download -json $(CLICKHOUSE_EXPORTER)@$(CLICKHOUSE_EXPORTER_VERSION) > module.json \
		&& grep -qF '"Sum": "$(CLICKHOUSE_EXPORTER_SUM)"' module.json \
		&& install -m 644 "$$(sed -n 's/.*"Dir": "\(.*\)",/\1/p' module.json)"/internal/sqltemplates/logs_table.sql "$$(sed -n 's/.*"Dir": "\(.*\)",/\1/p' module.json)"/internal/sqltemplates/traces_table.sql . \
		&& touch .ready; \
	else echo "make bench-cost: no go found, so there are no tables of the exporter" >&2; exit 1; fi

.PHONY: bench-cost
bench-cost: $(READY) $(READERS)/python/.ready $(PEERS)/clickhouse/.ready ## CPU a gigabyte and time to an answer beside ClickHouse; an hour, see benchmarks/cost
	$(BIN)/python -m benchmarks.cost

.PHONY: bench-masters
bench-masters: $(READY) ## CPU, memory and freshness of `segplane dev` on Spark and on processes, in turns; half an hour, see benchmarks/cost/masters.py
	$(BIN)/python -m benchmarks.cost.masters

LOADGEN_SOURCES := benchmarks/loadgen

loadgen: build/loadgen ## Build the load generator of the benchmarks of RPCs (needs go; without it Python sends)

build/loadgen: $(wildcard $(LOADGEN_SOURCES)/*)
	@if command -v go >/dev/null; then nice -n 10 go build -C $(LOADGEN_SOURCES) -trimpath -o "$$PWD/$@" .; \
	else echo "make loadgen: no go found, so the benchmarks' callers are a process of Python" >&2; fi

bench: $(READY) bench-peers loadgen ## Benchmarks; exits non-zero if a bar does not hold
	$(BIN)/python -m benchmarks

soak: $(READY) ## A steady load for SOAK_MINUTES (30); fails on growth, loss, or a bar that does not hold
	$(BIN)/python -m benchmarks.soak

torture: $(READY) ## Random kills, stops and damage for TORTURE_MINUTES (10); fails if a record is lost beyond the ledger or doubled
	$(BIN)/python -m benchmarks.torture

clean: ## Remove what the targets made
	rm -rf $(VENV) build .pytest_cache .mypy_cache .ruff_cache
