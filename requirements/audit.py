"""Judges what pip-audit found about the packages in `requirements/all.lock`.

`make audit` runs it. pip-audit skips a package that its index tells nothing about, and then reports
no vulnerability; here a package that was not looked up is a failure of its own. Exit code 0 = every
package was looked up and none is vulnerable, 1 = some are, 3 = not every package was looked up.
"""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

VULNERABLE, UNKNOWN = 1, 3
NAMES_MAX = 10


@dataclass(frozen=True, slots=True)
class AuditReport:
    """Packages that were looked up, those that were not, and a line for each vulnerability."""

    known: tuple[str, ...]
    unknown: tuple[str, ...]
    vulnerabilities: tuple[str, ...]

    @property
    def exit_code(self) -> int:
        """0, VULNERABLE or UNKNOWN; an empty report is not a good one."""
        if self.vulnerabilities:
            return VULNERABLE
        return UNKNOWN if self.unknown or not self.known else 0

    def text(self) -> str:
        """The report for an operator."""
        lines = list(self.vulnerabilities)
        if self.unknown or not self.known:
            names = ", ".join(self.unknown[:NAMES_MAX]) or "all of them"
            more = f" and {len(self.unknown) - NAMES_MAX} more" * (len(self.unknown) > NAMES_MAX)
            lines.append(
                f"the package index tells nothing about {names}{more}: run make audit where it"
                " answers with advisories"
            )
        count = len(self.vulnerabilities)
        return "\n".join([*lines, f"{len(self.known)} packages looked up, {count} vulnerabilities"])


def read_report(path: Path) -> AuditReport:
    """Read pip-audit's JSON; a file that is not there or not whole tells nothing."""
    try:
        packages: list[dict[str, Any]] = json.loads(path.read_text())["dependencies"]
    except (OSError, ValueError, KeyError):
        packages = []
    known = [package for package in packages if "skip_reason" not in package]
    return AuditReport(
        tuple(package["name"] for package in known),
        tuple(package["name"] for package in packages if "skip_reason" in package),
        tuple(_line(package, flaw) for package in known for flaw in package["vulns"]),
    )


def _line(package: dict[str, Any], flaw: dict[str, Any]) -> str:
    fixed = ", ".join(flaw.get("fix_versions", ())) or "no release"
    names = ", ".join([flaw["id"], *flaw.get("aliases", ())])
    return f"{package['name']} {package['version']}: {names}, mended by {fixed}"


def main() -> int:
    """Print the content of the report at the path given."""
    report = read_report(Path(sys.argv[1]))
    (sys.stderr if report.exit_code else sys.stdout).write(report.text() + "\n")
    return report.exit_code


if __name__ == "__main__":
    sys.exit(main())
