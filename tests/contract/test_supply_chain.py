"""The supply chain: a bill of materials of the lock file, and an audit of its packages."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GOOD: dict[str, object] = {"name": "one", "version": "1", "vulns": []}
SKIPPED = {"name": "two", "skip_reason": "Dependency not found on PyPI and could not be audited"}
BAD = GOOD | {"vulns": [{"id": "PYSEC-1", "aliases": ["CVE-1"], "fix_versions": ["1.1"]}]}


def test_the_bill_of_materials_names_every_locked_package(tmp_path: Path) -> None:
    script = ROOT / "requirements" / "bill_of_materials.py"
    for folder in ("a", "b"):
        done = subprocess.run(
            [sys.executable, str(script), str(tmp_path / folder)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr

    bill = (tmp_path / "a/segplane.cdx.json").read_bytes()
    assert bill == (tmp_path / "b/segplane.cdx.json").read_bytes()
    parsed = json.loads(bill)
    assert (parsed["bomFormat"], parsed["specVersion"]) == ("CycloneDX", "1.6")
    names = {component["name"] for component in parsed["components"]}
    assert {"grpcio", "htmx.org", "protobuf", "pyarrow", "sqlalchemy", "uplot"} <= names
    assert len(names) > 50
    licences = (tmp_path / "a/licences.txt").read_text().splitlines()
    assert len(licences) == len(names)


@pytest.mark.parametrize(
    ("dependencies", "code", "said"),
    [
        ([GOOD], 0, "1 packages looked up, 0 vulnerabilities"),
        ([GOOD, BAD], 1, "one 1: PYSEC-1, CVE-1, mended by 1.1"),
        ([GOOD, SKIPPED], 3, "the package index tells nothing about two"),
        ([BAD, SKIPPED], 1, "the package index tells nothing about two"),
        ([], 3, "the package index tells nothing about all of them"),
        (None, 3, "the package index tells nothing about all of them"),
    ],
)
def test_an_audit_passes_only_if_every_package_was_looked_up(
    tmp_path: Path, dependencies: list[dict[str, object]] | None, code: int, said: str
) -> None:
    report = tmp_path / "report.json"
    if dependencies is not None:
        report.write_text(json.dumps({"dependencies": dependencies, "fixes": []}))

    done = subprocess.run(
        [sys.executable, str(ROOT / "requirements" / "audit.py"), str(report)],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == code, done.stderr
    assert said in done.stdout + done.stderr
