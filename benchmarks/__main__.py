"""`python -m benchmarks [name ...]`: run benchmarks, print the table, keep the results.

Exits with 1 if a bar does not hold. A benchmark is a module beside this one that has
`run() -> list[Result]`; its file names it.
"""

import argparse
import importlib
import pkgutil
import sys
import time
from typing import Protocol, cast

import benchmarks
from benchmarks.harness import pictures, results


class Benchmark(Protocol):
    """The interface of a benchmark's module."""

    def run(self) -> list[results.Result]:
        """Measure, and judge each figure against its bar."""


def main() -> int:
    """Run the benchmarks that the command line names, all by default."""
    known = benchmarks_by_name()
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("name", nargs="*", help=f"one of: {', '.join(known)}; all by default")
    names = parser.parse_args().name or list(known)
    unknown = set(names) - set(known)
    if unknown:
        parser.error(f"no benchmark named {', '.join(sorted(unknown))}")
    measured: list[results.Result] = []
    for name in names:
        began = time.monotonic()
        print(f"{name}: running", flush=True)
        measured += known[name].run()
        results.save(measured)
        pictures.draw()
        print(f"{name}: {time.monotonic() - began:.0f} s", flush=True)
    print(results.table(measured))
    return 0 if all(result.holds for result in measured) else 1


def benchmarks_by_name() -> dict[str, Benchmark]:
    """Every module of this package that has the interface of a benchmark."""
    modules = pkgutil.iter_modules(benchmarks.__path__)
    names = [module.name for module in modules if not module.ispkg]
    imported = {name: importlib.import_module(f"benchmarks.{name}") for name in names}
    return {
        name: cast(Benchmark, module)
        for name, module in imported.items()
        if callable(getattr(module, "run", None))
    }


if __name__ == "__main__":
    sys.exit(main())
