"""Styles, scripts and images of the console, and where they come from."""

import gzip
import json
import re
import tomllib
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

import segplane.gateway.console as package
from tests.support.gateway.server import GatewayServer

FOLDER = Path(package.__path__[0])
VENDOR = FOLDER / "static" / "vendor"
SCRIPT_BYTES_MAX = 60_000
# Compressed; only the query page loads it.
EDITOR_BYTES_MAX = 140_000


@pytest.fixture
def addresses(console: GatewayServer) -> list[str]:
    """Addresses of the files that a page names."""
    page = console.get("ui/").body.decode()
    return re.findall(r'(?:href|src)="/(ui/static/[^"]+)"', page)


def test_files_of_a_page_are_cached_for_a_year(
    console: GatewayServer, addresses: list[str]
) -> None:
    types = {}
    for address in addresses:
        answer = console.get(address)
        assert answer.status == 200, address
        assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert answer.headers["x-content-type-options"] == "nosniff"
        digest = address.split(".")[-2]
        assert sha256(answer.body).hexdigest().startswith(digest)
        types[address.rpartition(".")[2]] = answer.headers["content-type"].partition(";")[0]

    assert len(set(addresses)) == 6
    assert types == {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}


@pytest.mark.parametrize(
    "name",
    [
        "console.css",
        "console.0000000000000000.css",
        "vendored.toml",
        "..%2Fconsole.py",
        "%00",
        "a" * 999,
    ],
)
def test_other_names_have_no_file(console: GatewayServer, name: str) -> None:
    assert console.get(f"ui/static/{name}").status == 404


def test_pages_have_no_script_and_no_style_in_their_text(console: GatewayServer) -> None:
    page = console.get("ui/").body.decode()

    assert "<style" not in page
    assert not re.search(r"<script[^>]*>[^<]", page)
    assert not re.search(r"\s(style|on\w+)=", page)


def test_each_vendored_file_is_the_one_that_its_table_names() -> None:
    table: dict[str, dict[str, str]] = tomllib.loads((VENDOR / "vendored.toml").read_text())
    served = {path.name for path in VENDOR.iterdir() if path.suffix in (".js", ".css")}

    assert served == set(table)
    for name, row in table.items():
        assert sha256((VENDOR / name).read_bytes()).hexdigest() == row["sha256"], name
        assert (VENDOR / row["licence_file"]).stat().st_size > 500
        assert row["licence"] in ("0BSD", "MIT")


def test_the_lock_of_the_scripts_has_hashes_and_no_addresses() -> None:
    lock: dict[str, Any] = json.loads((FOLDER / "scripts" / "package-lock.json").read_text())
    packages = {name: row for name, row in lock["packages"].items() if name}
    table = tomllib.loads((VENDOR / "vendored.toml").read_text())

    assert all(row["integrity"].startswith("sha512-") for row in packages.values())
    assert not [name for name, row in packages.items() if "resolved" in row]
    for row in table.values():
        assert packages[f"node_modules/{row['package']}"]["version"] == row["version"]


def test_the_bundled_script_is_small() -> None:
    assert 1_000 < (FOLDER / "static" / "console.js").stat().st_size <= SCRIPT_BYTES_MAX


def test_the_editor_is_of_bounded_size_and_has_its_licence() -> None:
    editor = (FOLDER / "static" / "query.js").read_bytes()

    assert 50_000 < len(gzip.compress(editor)) <= EDITOR_BYTES_MAX
    assert (VENDOR / "codemirror.LICENSE").stat().st_size > 500
