"""Marked secrets go through real processes at DEBUG, and are found in nothing that they leave."""

import json
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import psycopg
import pytest
from psycopg import sql

from meta.client import MetaClient
from meta.client.channel import ClientTls
from meta.errors import MetaError, Unavailable
from meta.roles import Role
from meta.v1 import catalog_pb2
from meta.v1 import operations_pb2 as pb
from segplane.stack.preflight import claim_ports
from tests.support.certificates import Authority, CertificateFiles
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.issuer import AUDIENCE, Issuer
from tests.support.waiting import wait_until

ADMIN = "marked-admin-token-of-this-test"
PEPPER = "marked-pepper-of-this-test"
PREVIOUS = "marked-previous-pepper-of-this-test"
PASSWORD = "marked-password-of-this-test"
GATEWAY = "marked-gateway-token-of-this-test"
S3_KEY = "marked-s3-secret-of-this-test"
RECORD = "a-record-to-be-found"
WRONG = "segp_marked-wrong-token-of-this-test"
LIST = catalog_pb2.ListDatasetsRequest()
# Everything logs as much as it can; the libraries' loggers as well.
AT_DEBUG = """
import logging, runpy, sys
logging.INFO = logging.DEBUG
logging.basicConfig(level=logging.DEBUG, stream=sys.stderr)
runpy.run_module(sys.argv.pop(1), run_name="__main__", alter_sys=True)
"""


@dataclass
class Run:
    """Processes of one installation, and everything that they leave."""

    folder: Path
    environment: Mapping[str, str]
    secrets: dict[str, str]
    tls: ssl.SSLContext
    left: dict[str, str] = field(default_factory=dict)
    _processes: ExitStack = field(default_factory=ExitStack)

    def start(self, module: str, **settings: str) -> None:
        """Start a process that logs to a file."""
        log = self._processes.enter_context((self.folder / f"{module}.log").open("wb"))
        prefix = module.rpartition(".")[2].upper()
        own = {f"{prefix}_{name}": value for name, value in settings.items()}
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", AT_DEBUG, module],
            env={**self.environment, **own},
            stdout=log,
            stderr=log,
        )
        self._processes.callback(process.wait, 60)
        self._processes.callback(process.terminate)

    def command(self, *arguments: str) -> None:
        """Run a command line and keep its output."""
        done = subprocess.run(
            [sys.executable, "-m", "segplane", *arguments],
            env=dict(self.environment),
            capture_output=True,
            text=True,
            timeout=60,
        )
        self.left[f"output of {' '.join(arguments[:-2])}"] = done.stdout + done.stderr

    def fetch(self, name: str, url: str, data: bytes | None = None, bearer: str = "") -> int:
        """Send a request and keep the answer; returns its status, 0 = nobody listens."""
        headers = {"Authorization": f"Bearer {bearer}", "Content-Type": "application/json"}
        try:
            context = self.tls if url.startswith("https") else None
            with urlopen(Request(url, data, headers), timeout=20, context=context) as reply:
                status, body = reply.status, reply.read()
        except HTTPError as error:
            status, body = error.code, error.read()
        except URLError:
            return 0
        self.left[name] = body.decode("utf-8", "replace")
        return int(status)

    def stop(self) -> None:
        """End the processes, and keep what they wrote."""
        self._processes.close()
        for path in (path for path in self.folder.rglob("*") if path.is_file()):
            if path.parent.name != "tls":
                self.left[str(path.relative_to(self.folder))] = path.read_bytes().decode("latin-1")


def _dump(url: str) -> Iterator[tuple[str, str]]:
    """Every table as text."""
    with psycopg.connect(url) as connection:
        tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        for (name,) in tables.fetchall():
            rows = connection.execute(
                sql.SQL("SELECT t::text FROM {} t").format(sql.Identifier(name))
            )
            yield f"table {name}", "\n".join(row[0] for row in rows)


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    running = Issuer()
    yield running
    running.stop()


def _refused(address: str, tls: ClientTls, tokens: list[str]) -> Iterator[tuple[str, str]]:
    for number, token in enumerate(tokens):
        with MetaClient(address, auth_token=token, tls=tls) as client:
            try:
                client.catalog.ListDatasets(LIST)
            except MetaError as error:
                yield f"refusal {number}", repr((error, error.metadata))


def test_no_secret_is_in_anything_that_is_left(
    tmp_path: Path, database_url: str, issuer: Issuer
) -> None:
    authority = Authority(tmp_path / "tls")
    files = authority.issue("meta")
    run = _installation(tmp_path, database_url, issuer, authority, files)
    ports = claim_ports(dict.fromkeys(("meta", "metrics", "grpc", "http", "gateway"), 0))
    address = f"127.0.0.1:{ports['meta']}"
    tls = ClientTls(str(authority.ca_file))
    run.start("meta", BIND=address, METRICS_PORT=str(ports["metrics"]))
    with MetaClient(address, auth_token=ADMIN, tls=tls) as admin:
        wait_until(lambda: _is_up(admin), "meta", seconds=60)
        catalog = CatalogDriver(admin)
        ingest = catalog.token(catalog.dataset("web")).plaintext
        access = _access_tokens(admin)
        run.secrets |= {"ingest token": ingest} | {r.value: t for r, t in access.items()}
        reader = issuer.token()
        run.secrets["jwt"] = reader
        with MetaClient(address, auth_token=reader, tls=tls) as client:
            client.catalog.ListDatasets(LIST)
        run.left |= _refused(address, tls, [WRONG, issuer.token(exp_secs=-900), "marked-other"])
        _start_others(run, ports, str(authority.ca_file), access)
        _use(run, ports, ingest)
        for group in ("access", "tokens", "audit", "streams"):
            run.command(group, "list", "--meta-address", address)
    run.fetch("metrics", f"https://127.0.0.1:{ports['metrics']}/metrics")
    run.stop()
    run.left |= dict(_dump(database_url))

    # What is looked through is what it seems to be: logs at DEBUG, objects, rows, output.
    assert "DEBUG:" in run.left["meta.log"]
    assert any(RECORD in text for where, text in run.left.items() if where.startswith("objects/"))
    assert ",ingest," in run.left["table access_tokens"]
    assert "web" in run.left["table datasets"]
    assert "META_AUTH_TOKEN" in run.left["output of audit list"]
    found = {
        (name, where)
        for name, secret in run.secrets.items()
        for where, text in run.left.items()
        if secret in text
    }
    assert found == set()


def _access_tokens(admin: MetaClient) -> dict[Role, str]:
    return {
        role: admin.operations.CreateAccessToken(
            pb.CreateAccessTokenRequest(subject=role.value, role=role.value)
        ).plaintext_token
        for role in (Role.INGEST, Role.JANITOR, Role.GATEWAY)
    }


def _start_others(
    run: Run, ports: Mapping[str, int], ca_file: str, access: Mapping[Role, str]
) -> None:
    called = {"META_ADDRESS": f"127.0.0.1:{ports['meta']}", "META_CA_FILE": ca_file}
    run.start(
        "collector",
        **called,
        META_AUTH_TOKEN=access[Role.INGEST],
        GRPC_BIND=f"127.0.0.1:{ports['grpc']}",
        HTTP_BIND=f"127.0.0.1:{ports['http']}",
    )
    run.start("janitor", **called, META_AUTH_TOKEN=access[Role.JANITOR])
    run.start(
        "segplane.gateway",
        **called,
        META_AUTH_TOKEN=access[Role.GATEWAY],
        BIND=f"127.0.0.1:{ports['gateway']}",
        AUTH_TOKEN=GATEWAY,
    )


def _installation(
    folder: Path, database_url: str, issuer: Issuer, authority: Authority, files: CertificateFiles
) -> Run:
    parts = urlsplit(database_url)
    dsn = parts._replace(netloc=parts.netloc.replace("@", f":{PASSWORD}@")).geturl()
    (folder / "objects").mkdir()
    environment = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(folder),
        "AWS_SECRET_ACCESS_KEY": S3_KEY,
        "AWS_ACCESS_KEY_ID": "id",
        "META_DATABASE_URL": dsn,
        "META_OBJECT_STORE_URL": (folder / "objects").as_uri(),
        "META_AUTH_TOKEN": ADMIN,
        "META_TOKEN_PEPPER": PEPPER,
        "META_TOKEN_PEPPER_PREVIOUS": PREVIOUS,
        "META_TLS_CERT_FILE": str(files.cert),
        "META_TLS_KEY_FILE": str(files.key),
        "META_OIDC_ISSUER": issuer.url,
        "META_OIDC_AUDIENCE": AUDIENCE,
        "META_OIDC_ROLES": "ro=reader",
        "META_FLUSH_TIMEOUT_MS": "50",
        "SEGPLANE_META_AUTH_TOKEN": ADMIN,
        "SEGPLANE_META_CA_FILE": str(authority.ca_file),
    }
    key_lines = files.key.read_text().splitlines()
    secrets = {
        "admin token": ADMIN,
        "pepper": PEPPER,
        "previous pepper": PREVIOUS,
        "password": PASSWORD,
        "gateway token": GATEWAY,
        "s3 key": S3_KEY,
        "wrong token": WRONG,
        "private key": max(key_lines, key=len),
    }
    tls = ssl.create_default_context(cafile=str(authority.ca_file))
    return Run(folder, environment, secrets, tls)


def _is_up(client: MetaClient) -> bool:
    try:
        client.catalog.ListDatasets(LIST)
    except Unavailable:
        return False
    return True


def _use(run: Run, ports: Mapping[str, int], ingest: str) -> None:
    """Export records, rightly and wrongly; read through the gateway, rightly and wrongly."""
    record = {"scopeLogs": [{"logRecords": [{"body": {"stringValue": RECORD}}]}]}
    body = json.dumps({"resourceLogs": [record]}).encode()
    export = f"http://127.0.0.1:{ports['http']}/v1/logs"
    tables = f"http://127.0.0.1:{ports['gateway']}/iceberg/v1/namespaces/default/tables"

    def status(name: str, url: str, data: bytes | None, bearer: str) -> Callable[[], bool]:
        return lambda: run.fetch(name, url, data, bearer) == 200

    wait_until(status("export", export, body, ingest), "an export", seconds=60)
    assert run.fetch("refused export", export, body, WRONG) == 401
    wait_until(status("tables", tables, None, GATEWAY), "the gateway", seconds=60)
    assert run.fetch("refused tables", tables, None, WRONG) == 401
