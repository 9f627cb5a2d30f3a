"""`python -m benchmarks [name ...]`: run benchmarks, print the table, keep the results.

Exits with 1 if a bar does not hold. Each module beside this one that has `run() -> list[Result]` is
a benchmark, named by its file.
"""

import argparse
import importlib
import pkgutil
import sys
import time

import benchmarks
from benchmarks import _pictures, results

_NOT_BENCHMARKS = {"__main__", "results"}


def main() -> int:
    """Run what the command line names, all by default."""
    known = [m.name for m in pkgutil.iter_modules(benchmarks.__path__)]
    names = [name for name in known if name not in _NOT_BENCHMARKS and not name.startswith("_")]
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("name", nargs="*", help=f"one of: {', '.join(names)}; all by default")
    wanted = parser.parse_args().name or names
    unknown = set(wanted) - set(names)
    if unknown:
        parser.error(f"no benchmark named {', '.join(sorted(unknown))}")
    fresh = []
    for name in wanted:
        began = time.monotonic()
        print(f"{name}: running", flush=True)
        fresh += importlib.import_module(f"benchmarks.{name}").run()
        results.save(fresh)
        _pictures.draw()
        print(f"{name}: {time.monotonic() - began:.0f} s", flush=True)
    print(results.table(fresh))
    return 0 if all(result.holds for result in fresh) else 1


if __name__ == "__main__":
    sys.exit(main())
