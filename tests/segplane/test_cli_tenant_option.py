"""The tenant of commands: --tenant and SEGPLANE_TENANT."""

import json
from collections.abc import Iterator

import pytest
from click.testing import CliRunner, Result

from meta.config import Settings
from segplane.__main__ import app
from tests.support.meta.tenants import TwoTenants, guarded_for_tenants, two_tenants


@pytest.fixture
def tenants(meta_settings: Settings) -> Iterator[TwoTenants]:
    with guarded_for_tenants(meta_settings) as guard, two_tenants(guard) as made:
        yield made


def _run(tenants: TwoTenants, *arguments: str, **more: str) -> Result:
    environment = {
        "SEGPLANE_META_ADDRESS": tenants.guard.address,
        "SEGPLANE_META_AUTH_TOKEN": "shared",
        "SEGPLANE_TENANT": "",
        **more,
    }
    return CliRunner().invoke(app, arguments, env=environment)


def test_a_command_is_of_the_tenant_that_it_names(tenants: TwoTenants) -> None:
    option = ("--tenant", "payments")
    made = _run(tenants, "datasets", "create", "web", *option)
    by_variable = _run(tenants, "datasets", "list", "--json", SEGPLANE_TENANT="payments")
    others = _run(tenants, "datasets", "list", "--json", "--tenant", "search")
    token = _run(tenants, "access", "create", "--role", "reader", "--subject", "ann", *option)

    assert made.exit_code == 0, made.output
    assert [item["name"] for item in json.loads(by_variable.stdout)] == ["web"]
    assert json.loads(others.stdout) == []
    whoami = _run(tenants, "whoami", "--json", SEGPLANE_META_AUTH_TOKEN=token.stdout.split()[0])
    assert json.loads(whoami.stdout)["subject"] == "ann"


def test_a_tenant_without_a_right_is_refused(tenants: TwoTenants) -> None:
    refused = _run(tenants, "datasets", "list", "--tenant", "nobody")

    assert refused.exit_code == 1
    assert "no role in the tenant" in refused.stderr
