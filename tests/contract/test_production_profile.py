"""SEGPLANE_PROFILE=production refuses unsafe settings, all at once."""

import os
import subprocess
import sys
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_reflection.v1alpha import reflection_pb2

from meta import config
from meta.process.environment import Environment
from meta.process.exits import ConfigError
from meta.roles import Role
from meta.store.access import token_secrets
from tests.support.certificates import Authority
from tests.support.meta.guarded import guarded

PRODUCTION = {"SEGPLANE_PROFILE": "production"}
WORKERS = ("collector", "nursery", "merge_worker", "janitor")


def _refused(process: str, values: dict[str, str]) -> list[str]:
    """The settings that a process refuses, a line each."""
    try:
        import_module(f"{process}.config").load(
            Environment(f"{process.upper()}_", PRODUCTION | values)
        )
    except ConfigError as error:
        return str(error).split("\n  - ")[1:]
    return []


@pytest.fixture
def certificate(tmp_path: Path) -> dict[str, str]:
    files = Authority(tmp_path / "tls").issue("server")
    return {"TLS_CERT_FILE": str(files.cert), "TLS_KEY_FILE": str(files.key)}


def _prefixed(process: str, values: dict[str, str]) -> dict[str, str]:
    return {f"{process.upper()}_{name}": value for name, value in values.items()}


def test_meta_names_every_unsafe_setting_at_once() -> None:
    unsafe = {
        "META_DATABASE_URL": "postgresql://user@db/segplane",
        "META_OBJECT_STORE_URL": "s3://bucket?endpoint=http://store:9000&region=eu",
        "META_ALLOW_UNAUTHENTICATED": "true",
        "META_UNSAFE_SHORT_GRACE": "true",
        "META_ORPHAN_MIN_AGE_SECS": "0",
        "META_DATASET_GRACE_SECS": "1",
        "META_AUDIT_SECS": "1",
        "META_DATABASE_CALLER_ROLE": "callers",
        "META_TOKEN_PEPPER": "short",
        "META_METRICS_PORT": "9464",
        "META_METRICS_HOST": "0.0.0.0",
    }

    refused = "\n".join(_refused("meta", unsafe))

    for name in (*unsafe, "META_TLS_CERT_FILE", "META_REQUIRE_AUTHENTICATION"):
        if name != "META_METRICS_PORT":
            assert name in refused, refused


def test_meta_takes_safe_settings(certificate: dict[str, str]) -> None:
    safe = {
        "META_DATABASE_URL": "postgresql://user@db/segplane?sslmode=verify-full",
        "META_OBJECT_STORE_URL": "s3://bucket?endpoint=https://store:9000&region=eu",
        "META_BIND": "0.0.0.0:9500",
        "META_REQUIRE_AUTHENTICATION": "true",
        "META_ORPHAN_MIN_AGE_SECS": "3600",
        "META_METRICS_PORT": "9464",
        "META_METRICS_HOST": "0.0.0.0",
        **_prefixed("meta", certificate),
    }

    assert _refused("meta", safe) == []
    assert len(_refused("meta", safe | {"META_ORPHAN_MIN_AGE_SECS": "3599"})) == 1
    socket = {"META_DATABASE_URL": "postgresql://user@/segplane?host=/run/postgresql"}
    assert _refused("meta", safe | socket) == []
    plain = {"META_DATABASE_URL": "postgresql://user@db/segplane"}
    assert _refused("meta", safe | plain | {"PGSSLMODE": "require"}) == []
    assert len(_refused("meta", safe | plain | {"PGSSLMODE": "prefer"})) == 1


@pytest.mark.parametrize("process", WORKERS)
def test_a_process_must_reach_meta_safely(
    process: str, certificate: dict[str, str], tmp_path: Path
) -> None:
    unsafe = _prefixed(process, {"META_ADDRESS": "meta:9500", "METRICS_HOST": "0.0.0.0"})
    unsafe |= _prefixed(process, {"METRICS_PORT": "9464"})
    safe = unsafe | _prefixed(process, certificate)
    safe |= _prefixed(
        process, {"META_CA_FILE": str(tmp_path / "tls/ca.pem"), "META_AUTH_TOKEN": "segp_x"}
    )
    if process == "collector":
        open_ports = {"COLLECTOR_GRPC_BIND": "0.0.0.0:4317", "COLLECTOR_HTTP_BIND": "[::]:4318"}
        unsafe |= open_ports
        safe |= open_ports

    assert len(_refused(process, unsafe)) == (5 if process == "collector" else 3)
    assert _refused(process, safe) == []


def test_a_refused_start_ends_with_2_and_an_unknown_profile_too() -> None:
    for profile, said in (("production", "META_ADDRESS"), ("prod", "SEGPLANE_PROFILE is 'prod'")):
        done = subprocess.run(
            [sys.executable, "-P", "-m", "janitor"],
            env={**os.environ, "SEGPLANE_PROFILE": profile, "JANITOR_META_ADDRESS": "meta:9500"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, said in done.stderr) == (2, True)


def _services(address: str, authority: Authority, version: str, token: str) -> set[str]:
    """The services that reflection lists over TLS."""
    metadata = (("authorization", f"Bearer {token}"),) if token else ()
    credentials = grpc.ssl_channel_credentials(authority.ca_file.read_bytes())
    request = reflection_pb2.ServerReflectionRequest(list_services="")
    with grpc.secure_channel(address, credentials) as channel:
        call: Any = channel.stream_stream(
            f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo",
            reflection_pb2.ServerReflectionRequest.SerializeToString,
            reflection_pb2.ServerReflectionResponse.FromString,
        )
        reply = next(call(iter([request]), metadata=metadata, timeout=20))
    return {service.name for service in reply.list_services_response.service}


def test_reflection_in_production_needs_a_role(database_url: str, tmp_path: Path) -> None:
    authority = Authority(tmp_path / "tls")
    files = authority.issue("server")
    values = {
        **PRODUCTION,
        "META_BIND": "127.0.0.1:0",
        "META_DATABASE_URL": f"{database_url}{'&' if '?' in database_url else '?'}sslmode=require",
        "META_OBJECT_STORE_URL": (tmp_path / "objects").as_uri(),
        "META_REQUIRE_AUTHENTICATION": "true",
        "META_TLS_CERT_FILE": str(files.cert),
        "META_TLS_KEY_FILE": str(files.key),
    }
    settings = config.load(Environment("META_", values))

    with guarded(settings, str(authority.ca_file)) as guard:
        unknown = token_secrets.new_plaintext(token_secrets.ACCESS_PREFIX)
        reader = guard.token(Role.READER).plaintext_token
        for version in ("v1", "v1alpha"):
            for token in ("", unknown):
                with pytest.raises(grpc.RpcError) as refused:
                    _services(guard.address, authority, version, token)
                error: Any = refused.value
                assert error.code() is grpc.StatusCode.UNAUTHENTICATED
            assert "meta.v1.CatalogService" in _services(guard.address, authority, version, reader)


@pytest.mark.parametrize(
    ("settings", "is_refused"),
    [
        ({"META_ORPHAN_MIN_AGE_SECS": "3600"}, False),
        ({"META_ORPHAN_MIN_AGE_SECS": "3599"}, True),
        ({"META_ORPHAN_MIN_AGE_SECS": "0", "SEGPLANE_TRIAL": "0"}, True),
        ({"META_ORPHAN_MIN_AGE_SECS": "0", "SEGPLANE_TRIAL": "1"}, False),
        ({"META_ORPHAN_MIN_AGE_SECS": "0", "SEGPLANE_TRIAL": "yes"}, True),
    ],
)
def test_objects_are_orphans_within_an_hour_in_a_trial_only(
    settings: dict[str, str], is_refused: bool
) -> None:
    values = {"META_DATABASE_URL": "postgresql://h/n", **settings}

    with pytest.raises(ConfigError) if is_refused else nullcontext():
        loaded = config.load(Environment("META_", values))
        assert loaded.lifetimes.orphan_min_age == float(settings["META_ORPHAN_MIN_AGE_SECS"])
