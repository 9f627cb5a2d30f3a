"""Software bill of materials: CycloneDX 1.6, and a list of licences.

It has the packages of `requirements/all.lock`, and those of npm that the console serves.

`make sbom` runs it in .venv, whose packages are those of the lock file. The same lock file gives
the same bytes: there is no time and no random number in them.
"""

import json
import sys
import tomllib
from dataclasses import dataclass
from importlib.metadata import PackageMetadata, PackageNotFoundError, distribution, version
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

LOCK = Path(__file__).with_name("all.lock")
VENDORED = LOCK.parents[1] / "segplane/gateway/console/static/vendor/vendored.toml"
LICENCE_CHARACTERS_MAX = 80
UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Component:
    """A locked package; `licence` is an SPDX expression or the words of its own metadata."""

    name: str
    version: str
    licence: str
    is_expression: bool
    registry: str = "pypi"


def main() -> int:
    """Write both files into the folder given; exit code 1 if a licence is unknown."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    components = read_components(LOCK) + read_vendored(VENDORED)
    (folder / "segplane.cdx.json").write_text(json.dumps(document(components), indent=2) + "\n")
    lines = [
        f"{component.name} {component.version}: {component.licence}" for component in components
    ]
    (folder / "licences.txt").write_text("\n".join(lines) + "\n")
    unknown = [component.name for component in components if component.licence == UNKNOWN]
    sys.stdout.write(f"{len(components)} components, in {folder}\n")
    if unknown:
        sys.stderr.write(f"without a known licence: {', '.join(unknown)}\n")
    return 1 if unknown else 0


def read_components(lock: Path) -> list[Component]:
    """Read the packages of a lock file that this platform installs, by name.

    Raises PackageNotFoundError for one that is not installed, ValueError for another version.
    """
    components = []
    for line in lock.read_text().splitlines():
        if not line or line.startswith((" ", "#")):
            continue
        requirement = Requirement(line.rstrip("\\ "))
        if requirement.marker is not None and not requirement.marker.evaluate():
            continue
        components.append(_component(requirement))
    return sorted(components, key=lambda component: component.name)


def read_vendored(table: Path) -> list[Component]:
    """Read the packages of npm whose files are in the repository, by name."""
    rows = tomllib.loads(table.read_text()).values()
    components = {Component(r["package"], r["version"], r["licence"], True, "npm") for r in rows}
    return sorted(components, key=lambda component: component.name)


def document(components: list[Component]) -> dict[str, object]:
    """The bill of materials in CycloneDX's JSON form."""
    own = {"type": "application", "name": "segplane", "version": version("segplane")}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": own},
        "components": [_as_json(component) for component in components],
    }


def _component(requirement: Requirement) -> Component:
    name = canonicalize_name(requirement.name)
    try:
        metadata = distribution(name).metadata
    except PackageNotFoundError as error:
        raise PackageNotFoundError(f"{name} is not installed: run make setup") from error
    if metadata["Version"] not in requirement.specifier:
        raise ValueError(f"{requirement} is locked, {metadata['Version']} is installed")
    expression = _field(metadata, "License-Expression")
    licence = expression or _in_words(
        metadata.get_all("Classifier") or [], _field(metadata, "License")
    )
    return Component(name, metadata["Version"], licence, is_expression=bool(expression))


def _field(metadata: PackageMetadata, name: str) -> str:
    return metadata[name] if name in metadata else ""  # noqa: SIM401 - it has no get()


def _in_words(classifiers: list[str], text: str) -> str:
    names = [c.rpartition(" :: ")[2] for c in classifiers if c.startswith("License :: ")]
    if names:
        return ", ".join(names)
    first = text.strip().splitlines()[:1]
    return first[0][:LICENCE_CHARACTERS_MAX] if first and first[0] else UNKNOWN


def _as_json(component: Component) -> dict[str, object]:
    purl = f"pkg:{component.registry}/{component.name}@{component.version}"
    licence: dict[str, object] = {"license": {"name": component.licence}}
    if component.is_expression:
        licence = {"expression": component.licence}
    return {
        "type": "library",
        "bom-ref": purl,
        "name": component.name,
        "version": component.version,
        "purl": purl,
        "licenses": [licence],
    }


if __name__ == "__main__":
    sys.exit(main())
