"""`python -m tests.support.mutation`: runs the tests on mutants, in a copy of the tree.

A mutant that its narrow tests let pass meets all tests of its area, but for `--narrow`. Survivors
are listed.
"""

import argparse
import contextlib
import difflib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from tests.support.mutation.narrow import AREAS, area_of, narrow_tests

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "build" / "mutation"
PYTHON = FOLDER / "bin" / "python"
# A mutant that waits for ever is noticed by this; the longest area takes some minutes.
TIMEOUT_SECS = 1_200


@dataclass(frozen=True)
class Mutant:
    """A changed module."""

    path: str
    line: int
    operator: str
    code: str

    def change(self, original: str) -> str:
        """The lines that differ."""
        pair = original.splitlines(), self.code.splitlines()
        lines = difflib.unified_diff(*pair, n=0, lineterm="")
        return "\n".join(line for line in lines if line[:3] not in ("---", "+++"))


def main() -> None:
    """Draw, run and report; exit code 1 if the tests fail without a change."""
    parser = argparse.ArgumentParser(prog="make mutants")
    parser.add_argument("--sample", type=int, default=600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--narrow", action="store_true")
    options = parser.parse_args()
    mutants, number = _drawn(options.sample, options.seed)
    print(f"{len(mutants)} of {number} places, seed {options.seed}", flush=True)
    tree = _copy()
    outcomes: Counter[str] = Counter()
    with (FOLDER / "survivors.txt").open("w") as survivors:
        for count, mutant in enumerate(mutants, 1):
            outcome = _outcome(tree, mutant, is_narrow=options.narrow)
            outcomes[outcome] += 1
            name = f"{mutant.path}:{mutant.line} {mutant.operator}"
            print(f"{count:4} {outcome:10} {name}", flush=True)
            if outcome == "survived":
                survivors.write(f"{name}\n{mutant.change((tree / mutant.path).read_text())}\n\n")
                survivors.flush()
    total = ", ".join(f"{number} {outcome}" for outcome, number in sorted(outcomes.items()))
    print(f"{total}; survivors are in {FOLDER / 'survivors.txt'}")


def _drawn(sample: int, seed: int) -> tuple[list[Mutant], int]:
    script = Path(__file__).with_name("mutants.py")
    command = [str(PYTHON), str(script), str(sample), str(seed), *AREAS]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    number = lines[0]["of"] if lines else 0
    return [Mutant(m["path"], m["line"], m["operator"], m["code"]) for m in lines], number


def _copy() -> Path:
    """Copy what Git knows, so that a run that is interrupted leaves nothing changed here."""
    tree = FOLDER / "tree"
    shutil.rmtree(tree, ignore_errors=True)
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    for name in listed.stdout.decode().split("\0"):
        if name and (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tree / name)
    (tree / "build").mkdir(exist_ok=True)
    if (ROOT / "build" / "tools").exists():
        (tree / "build" / "tools").symlink_to(ROOT / "build" / "tools")
    return tree


def _outcome(tree: Path, mutant: Mutant, *, is_narrow: bool) -> str:
    target = tree / mutant.path
    original = target.read_text()
    target.write_text(mutant.code)
    try:
        narrow = narrow_tests(tree, mutant.path)
        outcome = _run(tree, narrow) if narrow else "survived"
        if outcome == "survived" and (not is_narrow or not narrow):
            outcome = _run(tree, list(AREAS[area_of(mutant.path)]))
        return outcome
    finally:
        target.write_text(original)


def _run(tree: Path, tests: list[str]) -> str:
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    environment = {**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
    # A group of its own, so that no server of a test outlives it.
    process = subprocess.Popen(
        command,
        cwd=tree,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        code = process.wait(TIMEOUT_SECS)
    except subprocess.TimeoutExpired:
        return "timed out"
    finally:
        _end(process)
    return "survived" if code in (0, 5) else "killed"


def _end(process: "subprocess.Popen[bytes]") -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


if __name__ == "__main__":
    main()
