"""Compares the driver's versions with the executors': another release misreads tasks."""

import pickle
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import astuple, dataclass, fields
from functools import cache
from typing import TypeVar

Row = tuple[str, ...]
T = TypeVar("T")
R = TypeVar("R")
ADVICE = "executors need what is installed here, see `segplane spark-env`"
# The versions that this process has compared already.
agreed: set[Row] = set()
_DIFFERS = "versions differ:"
_FOUND = re.compile(rf"{_DIFFERS} (\S*)")
# Spark's message if an executor has no package of ours that is young enough, and its host.
_NO_PACKAGE = re.compile(r"(?:module specification for '|No module named )segments\.spark\.daemon")
_HOST = re.compile(r"\((\S+) executor \d+\)")
# PySpark's own refusal, before it reads anything of a task.
_PYTHON_DIFFERS = re.compile(r"\[PYTHON_VERSION_MISMATCH\]\D*(\d+\.\d+)\D*(\d+\.\d+)")


@dataclass(frozen=True, slots=True)
class Versions:
    """Versions of one Python process; "none" for a package that is not installed."""

    host: str
    python: str
    pyspark: str
    segplane: str
    pyarrow: str


def survey() -> Callable[[Iterable[int]], Iterator[Row]]:
    """Make the function that returns the values of a Versions on the machine that runs it."""

    # Nested, so that it is pickled by value: an executor may have none of our packages.
    def look(_: Iterable[int]) -> Iterator[Row]:
        import platform
        import sys
        from importlib import metadata

        def version(name: str) -> str:
            try:
                return metadata.version(name)
            except metadata.PackageNotFoundError:
                return "none"

        # Spark itself puts pyspark on the path, without metadata, but any process that runs this
        # has imported it.
        pyspark = getattr(sys.modules.get("pyspark"), "__version__", "none")
        python = f"{sys.version_info[0]}.{sys.version_info[1]}"
        yield platform.node(), python, pyspark, version("segplane"), version("pyarrow")

    return look


def guarded(function: Callable[[Iterable[T]], Iterator[R]]) -> Callable[[Iterable[T]], Iterator[R]]:
    """Make a task that runs `function` only if the versions are those of this process.

    An executor may have come after the survey at the start, or been upgraded since.
    """
    expected, look, body = astuple(versions_here())[1:], survey(), pickle.dumps(function)
    name = __name__

    # Nested, and all of ours that it needs still packed: as above.
    def run(items: Iterable[T]) -> Iterator[R]:
        import pickle
        import sys
        from importlib import import_module

        ours = sys.modules.get(name)
        if ours is None or expected not in ours.agreed:
            (installed,) = look(())
            if installed[1:] != expected:
                raise RuntimeError(f"{_DIFFERS} {'|'.join(installed)}")
            import_module(name).agreed.add(expected)
        # The bytes are as trustworthy as the task that brought them.
        function: Callable[[Iterable[T]], Iterator[R]] = pickle.loads(body)  # noqa: S301
        return function(items)

    return run


def refusal(error: str) -> str:
    """Advice to the operator if versions made a job fail; else ""."""
    if match := _PYTHON_DIFFERS.search(error):
        return f"an executor has python {match[1]} (here {match[2]}): {ADVICE}"
    if _NO_PACKAGE.search(error):
        host = _HOST.search(error)
        expected = versions_here().segplane
        where = f"the executor on {host[1]}" if host else "an executor"
        return f"{where} has segplane none, or an older one (here {expected}): {ADVICE}"
    if match := _FOUND.search(error):
        return f"{difference(versions_here(), [tuple(match[1].split('|'))])}: {ADVICE}"
    return ""


@cache
def versions_here() -> Versions:
    """Versions that this process started with, whatever has been installed since."""
    return Versions(*next(survey()(())))


def difference(driver: Versions, executors: Iterable[Row]) -> str:
    """Name the first executor that differs, with all in which it does; "" if none does."""
    expected = dict(zip(_NAMES, astuple(driver), strict=True))
    for row in executors:
        installed = dict(zip(_NAMES, row, strict=True))
        differing = [
            f"{name} {installed[name]} (here {expected[name]})"
            for name in _NAMES[1:]
            if installed[name] != expected[name]
        ]
        if differing:
            return f"the executor on {installed['host']} has {', '.join(differing)}"
    return ""


_NAMES = tuple(field.name for field in fields(Versions))
