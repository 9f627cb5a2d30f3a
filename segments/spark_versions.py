"""Whether executors run what the driver runs: another release would read our tasks wrongly."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import astuple, dataclass, fields

Row = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Versions:
    """What one Python process has; "none" for a package that is not installed there."""

    host: str
    python: str
    pyspark: str
    segplane: str
    pyarrow: str


def survey() -> Callable[[Iterable[int]], Iterator[Row]]:
    """Make the function that tells, where it runs, the values of a Versions."""

    # Nested, so that it is pickled by value: an executor may have nothing of ours to import.
    def look(_: Iterable[int]) -> Iterator[Row]:
        import platform
        import sys
        from importlib import metadata

        def version(name: str) -> str:
            try:
                return metadata.version(name)
            except metadata.PackageNotFoundError:
                return "none"

        # Spark puts it on the path itself, where it has no metadata; who runs this has it.
        pyspark = getattr(sys.modules.get("pyspark"), "__version__", "none")
        python = f"{sys.version_info[0]}.{sys.version_info[1]}"
        yield platform.node(), python, pyspark, version("segplane"), version("pyarrow")

    return look


def versions_here() -> Versions:
    """What this process has."""
    return Versions(*next(survey()(())))


def difference(driver: Versions, executors: Iterable[Row]) -> str:
    """Name the first executor that differs, with all in which it does; "" if none does."""
    wanted = dict(zip(_NAMES, astuple(driver), strict=True))
    for row in executors:
        found = dict(zip(_NAMES, row, strict=True))
        differing = [
            f"{name} {found[name]} (here {wanted[name]})"
            for name in _NAMES[1:]
            if found[name] != wanted[name]
        ]
        if differing:
            return f"the executor on {found['host']} has {', '.join(differing)}"
    return ""


_NAMES = tuple(field.name for field in fields(Versions))
