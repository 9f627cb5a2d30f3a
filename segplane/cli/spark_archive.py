"""Packs the dependencies of executors, except Python and Spark, into an archive for Spark.

The archive holds packages at its root: an executor needs it on its PYTHONPATH, no more. They are
copied from this environment, compiled ones included, so executors need this Python and platform.
"""

import importlib.util
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path, PurePosixPath

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from dataplane import babies
from segments import keys
from segplane.stack.preflight import NotReady
from segplane.terminal.whole_files import whole_file

# Segplane's packages that tasks import; the shared ones stand below `segplane` in a wheel.
SHARED = {package.__name__.partition(".")[0] for package in (babies, keys)}
OURS = sorted({"meta", *SHARED, "segplane", "nursery", "merge_worker"})
OUR_DISTRIBUTION = "segplane-server"
OUR_DISTRIBUTIONS = {OUR_DISTRIBUTION, "segplane"}
OUR_EXTRA = "spark"
# Provided by the executor's own Spark.
WITH_SPARK = {"pyspark"}
# Most of the archive is compiled code that hardly gets smaller; 9 takes ten times as long.
GZIP_LEVEL = 1


@dataclass(frozen=True, slots=True)
class Packed:
    """A distribution in the archive."""

    name: str
    version: str


def build(output: Path) -> list[Packed]:
    """Write the archive, whole or not at all; returns its content.

    Raises NotReady if this environment lacks a package or the file cannot be written.
    """
    distributions = _needed()
    files = dict(_our_files())
    for distribution in distributions:
        files.update(_files_of(distribution))
    try:
        with (
            whole_file(output) as file,
            tarfile.open(None, "w:gz", file, compresslevel=GZIP_LEVEL) as archive,
        ):
            for name, path in sorted(files.items()):
                archive.add(path.resolve(), name, recursive=False, filter=_anonymous)
    except OSError as error:
        raise NotReady(f"cannot write {output}: {error.strerror}") from error
    return [Packed(package.metadata["Name"], package.version) for package in distributions]


def _needed() -> list[metadata.Distribution]:
    """Our distribution and all that it needs on an executor, each once."""
    packages: dict[str, metadata.Distribution] = {}
    waiting, done = [(OUR_DISTRIBUTION, OUR_EXTRA)], set[tuple[str, str]]()
    while waiting:
        name, extra = waiting.pop()
        if (name, extra) in done or name in WITH_SPARK:
            continue
        done.add((name, extra))
        try:
            packages[name] = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            raise NotReady(
                f"{name} is not installed here: install segplane-server[spark]"
            ) from None
        for needed in map(Requirement, packages[name].requires or ()):
            if needed.marker is None or needed.marker.evaluate({"extra": extra}):
                waiting += [(canonicalize_name(needed.name), e) for e in ("", *needed.extras)]
    return [packages[name] for name in sorted(packages)]


def _our_files() -> Iterator[tuple[str, Path]]:
    """Our packages by their imports, which the record of an editable install does not list."""
    for package in OURS:
        spec = importlib.util.find_spec(package)
        if spec is None or not spec.submodule_search_locations:
            raise NotReady(f"{package} is not installed here: install segplane-server[spark]")
        root = Path(spec.submodule_search_locations[0])
        for path in root.rglob("*"):
            name = PurePosixPath(package, *path.relative_to(root).parts)
            if path.is_file() and _is_wanted(name):
                yield str(name), path


def _files_of(distribution: metadata.Distribution) -> Iterator[tuple[str, Path]]:
    is_ours = distribution.metadata["Name"] in OUR_DISTRIBUTIONS
    for name in distribution.files or ():
        path = Path(str(distribution.locate_file(name)))
        # Only the metadata of Segplane is packed, in which executors find the version.
        is_metadata = name.parts[0].endswith(".dist-info")
        if _is_wanted(name) and (is_metadata or not is_ours) and path.is_file():
            yield str(name), path


def _is_wanted(name: PurePosixPath) -> bool:
    """Exclude files outside the packages, such as scripts, and files that hold local paths."""
    return (
        ".." not in name.parts
        and "__pycache__" not in name.parts
        and name.suffix != ".pth"
        and name.name != "direct_url.json"
    )


def _anonymous(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    """Drop owner and time, so that the same packages give the same bytes for caches."""
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    entry.mtime = 0
    return entry
