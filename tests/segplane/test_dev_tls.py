"""`segplane dev` with a meta that asks its callers for certificates."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import grpc
import pytest
from click.testing import CliRunner

from meta.process.exits import ConfigError
from segplane.__main__ import app
from segplane.stack.config import StackSettings
from segplane.stack.dev import COLLECTOR, Stack
from tests.support.certificates import Authority
from tests.support.collector.exports import log_export
from tests.support.collector.process import Stub


def _listed(stack: Stack, environment: Mapping[str, str]) -> int:
    """The exit code of a command."""
    address = {"SEGPLANE_META_ADDRESS": stack.settings.meta_address}
    return CliRunner().invoke(app, ["datasets", "list"], env={**environment, **address}).exit_code


@pytest.mark.long
def test_a_meta_that_asks_for_certificates_is_used_by_all(
    prepared: StackSettings, tmp_path: Path
) -> None:
    authority = Authority(tmp_path / "tls")
    served, shown = authority.issue("meta"), authority.issue("operator")
    of_meta = {
        "META_TLS_CERT_FILE": str(served.cert),
        "META_TLS_KEY_FILE": str(served.key),
        "META_TLS_CLIENT_CA_FILE": str(authority.ca_file),
    }
    of_clients = {
        "SEGPLANE_META_CA_FILE": str(authority.ca_file),
        "SEGPLANE_META_CERT_FILE": str(shown.cert),
        "SEGPLANE_META_KEY_FILE": str(shown.key),
    }
    secured = replace(prepared, inherited={**prepared.inherited, **of_meta, **of_clients})

    with Stack(secured, print, parts=(COLLECTOR,)) as stack:
        with grpc.insecure_channel(stack.settings.otlp_grpc_address) as channel:
            Stub(channel).export(stack.token, log_export("one"))
        exit_codes = _listed(stack, of_clients), _listed(stack, {})

    assert exit_codes == (0, 3)


def test_a_certificate_whose_authority_is_not_named_is_refused(settings: StackSettings) -> None:
    alone = replace(settings, inherited={**settings.inherited, "META_TLS_CERT_FILE": "/a.pem"})

    with pytest.raises(ConfigError, match="SEGPLANE_META_CA_FILE"):
        Stack(alone, print, parts=(COLLECTOR,)).__enter__()


def test_a_collector_with_tls_is_refused(settings: StackSettings) -> None:
    alone = replace(settings, inherited={**settings.inherited, "COLLECTOR_TLS_CERT_FILE": "/a"})

    with pytest.raises(ConfigError, match="COLLECTOR_TLS_CERT_FILE"):
        Stack(alone, print, parts=(COLLECTOR,)).__enter__()
