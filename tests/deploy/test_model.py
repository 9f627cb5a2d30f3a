"""The model of a deployment: every process, port and right is in it."""

from pathlib import Path

import pytest

from segplane.deploy.model import ACCOUNTS, EVERYTHING, PARTS
from segplane.deploy.policies.__main__ import examples
from segplane.deploy.processes import Process
from tests.e2e.test_bucket_policy import ROOTS, UPLOADS, allowed

ROOT = Path(__file__).parents[2]
_ADDRESS = "_BIND"


def test_every_program_with_settings_is_a_process_of_the_model() -> None:
    programs = {
        ".".join(path.parent.relative_to(ROOT).parts)
        for pattern in ("*/__main__.py", "segplane/*/__main__.py")
        for path in ROOT.glob(pattern)
        if (path.parent / "config.py").exists()
    }

    assert {process.package for process in Process} == programs
    assert set(PARTS) == set(Process)


@pytest.mark.parametrize("process", Process)
def test_every_address_of_a_process_is_a_port_of_the_model(process: Process) -> None:
    settings = process.settings()
    ports = {port.setting: port.number for port in PARTS[process].ports}

    addresses = {name for name in settings if name.endswith(_ADDRESS)}
    assert set(ports) == {*addresses, "SEGPLANE_METRICS_PORT"}
    defaults = {name: settings[name].default for name in addresses if settings[name].default}
    assert {name: int(default.rpartition(":")[2]) for name, default in defaults.items()} == {
        name: ports[name] for name in defaults
    }


def test_ports_differ() -> None:
    numbers = [port.number for part in PARTS.values() for port in part.ports]

    assert len(set(numbers)) == len(numbers)


@pytest.mark.parametrize("account", ACCOUNTS)
def test_the_rights_in_the_bucket_are_those_of_the_page(account: str) -> None:
    rights = ACCOUNTS[account]

    get, put, delete, lists = allowed()[account.replace("-", " ")]
    assert (rights.lists_names, rights.lists_uploads) == ("names" in lists, UPLOADS in lists)
    for prefixes, roots in ((rights.get, get), (rights.put, put), (rights.delete, delete)):
        assert frozenset(ROOTS if EVERYTHING in prefixes else prefixes) == roots


def test_the_policies_of_the_docs_are_rendered_from_the_model() -> None:
    for name, text in examples().items():
        assert (ROOT / "docs" / name).read_text() == text, "stale: run make deploy"
