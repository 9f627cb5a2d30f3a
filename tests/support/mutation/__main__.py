"""`python -m tests.support.mutation`: runs the tests on mutants, in a copy of the tree.

The first run copies the tree, draws the sample and records which tests run which lines; then each
mutant meets the tests that run its line. Every result is appended to build/mutation/results.jsonl.
A run that was interrupted goes on from there, with the same copy; `--fresh` starts anew.
"""

import argparse
import difflib
import json
import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.support.mutation.executions import Executions
from tests.support.mutation.narrow import AREAS, area_of
from tests.support.mutation.warm import Forks, Outcome

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "build" / "mutation"
TREE = FOLDER / "tree"
SAMPLE = FOLDER / "sample.jsonl"
RECORDS = FOLDER / "lines"
RESULTS = FOLDER / "results.jsonl"
# The unchanged module, while its mutant is in its place.
ORIGINAL = ".original"
# Starting Spark takes longer than a mutant may.
FAST = "not spark and not slow and not scale and not readers"
# Each so many mutants the tests of one run without its change: a failure then is one of the tests.
CONTROL_EVERY = 40


@dataclass(frozen=True)
class Mutant:
    """A changed module."""

    number: int
    path: str
    line: int
    operator: str
    code: str

    def change(self, original: str) -> str:
        """The lines that differ."""
        pair = original.splitlines(), self.code.splitlines()
        lines = difflib.unified_diff(*pair, n=0, lineterm="")
        return "\n".join(line for line in lines if line[:3] not in ("---", "+++"))


@dataclass(frozen=True)
class Result:
    """The end of a mutant, or of a control without a change: a line of results.jsonl."""

    number: int
    is_control: bool
    outcome: str
    path: str
    line: int
    change: str
    by: str | None
    tests: int
    secs: float


def main() -> None:
    """Copy, draw, record, run and report."""
    parser = argparse.ArgumentParser(prog="make mutants")
    parser.add_argument("--sample", type=int, default=600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--areas", nargs="*", choices=AREAS, default=list(AREAS))
    parser.add_argument("--fresh", action="store_true")
    options = parser.parse_args()
    if options.fresh or not TREE.exists():
        for path in (TREE, RECORDS):
            shutil.rmtree(path, ignore_errors=True)
        for path in (SAMPLE, RESULTS):
            path.unlink(missing_ok=True)
        _copy()
    _restore()
    mutants = _drawn(options.sample, options.seed)
    for area in options.areas:
        _record(area)
    executions = Executions(TREE, RECORDS)
    done = {result.number for result in _results()}
    with _postgres() as url:
        forks = Forks(TREE, url)
        for mutant in mutants:
            if mutant.number not in done and area_of(mutant.path) in options.areas:
                if mutant.number % CONTROL_EVERY == 0:
                    _append(_run(mutant, executions, forks, is_control=True))
                _append(_run(mutant, executions, forks, is_control=False))
    _report(_results())


def _copy() -> None:
    """Copy what Git knows, so that a run that is interrupted leaves nothing changed here."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    for name in listed.stdout.decode().split("\0"):
        if name and (ROOT / name).is_file():
            (TREE / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, TREE / name)
    (TREE / "build").mkdir(exist_ok=True)
    if (ROOT / "build" / "tools").exists():
        (TREE / "build" / "tools").symlink_to(ROOT / "build" / "tools")


def _restore() -> None:
    """Undo the change of a run that was killed."""
    for original in TREE.rglob(f"*{ORIGINAL}"):
        original.replace(original.with_name(original.name.removesuffix(ORIGINAL)))


def _drawn(sample: int, seed: int) -> list[Mutant]:
    """Read the sample, or draw it; this takes half a minute."""
    if not SAMPLE.exists():
        script = Path(__file__).with_name("mutants.py")
        command = [str(FOLDER / "bin" / "python"), str(script), str(sample), str(seed), *AREAS]
        done = subprocess.run(command, cwd=TREE, stdout=subprocess.PIPE, check=True)
        partial = SAMPLE.with_suffix(".new")
        partial.write_bytes(done.stdout)
        partial.rename(SAMPLE)
    lines = [json.loads(line) for line in SAMPLE.open()]
    print(f"{len(lines)} of {lines[0]['of']} places", flush=True)
    return [
        Mutant(
            number, line["path"], line["line"], line["operator"].rpartition("/")[2], line["code"]
        )
        for number, line in enumerate(lines, 1)
    ]


def _record(area: str) -> None:
    """Run the tests of an area without a change, but for those that are recorded."""
    RECORDS.mkdir(exist_ok=True)
    finished = RECORDS / f"{area.replace('/', '+')}.finished"
    if finished.exists():
        return
    print(f"recording the tests of {area}", flush=True)
    packages = next((FOLDER / "lib").glob("python*/site-packages"))
    environment = os.environ | {
        "PYTHONPATH": str(TREE),
        "CI": "1",
        "MUTATION_PACKAGES": str(packages),
        "MUTATION_RECORDS": str(finished.with_suffix(".jsonl")),
    }
    plugin = ["-q", "-p", "no:cacheprovider", "-p", "tests.support.mutation.recording"]
    command = [sys.executable, "-m", "pytest", "-n2", *plugin, "-m", FAST, *AREAS[area]]
    subprocess.run(command, cwd=TREE, env=environment, check=False)
    finished.touch()


@contextmanager
def _postgres() -> Iterator[str]:
    command = [sys.executable, "-m", "tests.support.mutation.shared_postgres"]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin
        assert process.stdout
        url = process.stdout.readline().strip()
        try:
            yield url
        finally:
            process.stdin.close()


def _run(mutant: Mutant, executions: Executions, forks: Forks, *, is_control: bool) -> Result:
    target = TREE / mutant.path
    original = target.with_name(target.name + ORIGINAL)
    text = target.read_text()
    tests = executions.tests_of(mutant.path, mutant.line)
    start = time.monotonic()
    try:
        if not is_control:
            shutil.copy2(target, original)
            target.write_text(mutant.code)
        outcome = Outcome("survived", None)
        if not is_control and not _compiles(mutant):
            outcome = Outcome("no Python", None)
        elif tests:
            change = None if is_control else (mutant.path, text, mutant.code)
            outcome = forks.run({test: executions.secs[test] for test in tests}, change)
    finally:
        if original.exists():
            original.replace(target)
    return Result(
        mutant.number,
        is_control,
        outcome.name,
        mutant.path,
        mutant.line,
        mutant.change(text),
        outcome.by,
        len(tests),
        round(time.monotonic() - start, 1),
    )


def _compiles(mutant: Mutant) -> bool:
    try:
        compile(mutant.code, mutant.path, "exec")
    except SyntaxError:
        return False
    return True


def _append(result: Result) -> None:
    with RESULTS.open("a") as file:
        file.write(json.dumps(asdict(result)) + "\n")
    kind = "control" if result.is_control else result.outcome
    print(f"{result.number:4} {kind:10} {result.path}:{result.line} {result.secs} s", flush=True)


def _results() -> list[Result]:
    if not RESULTS.exists():
        return []
    return [Result(**json.loads(line)) for line in RESULTS.open()]


def _report(results: list[Result]) -> None:
    outcomes = Counter(result.outcome for result in results if not result.is_control)
    print(", ".join(f"{number} {outcome}" for outcome, number in sorted(outcomes.items())))
    controls = [result for result in results if result.is_control]
    failed = [result for result in controls if result.outcome != "survived"]
    print(f"{len(failed)} of {len(controls)} controls without a change failed")
    for result in results:
        if result.outcome == "survived" and not result.is_control:
            print(f"\n{result.number} {result.path}:{result.line}\n{result.change}")


if __name__ == "__main__":
    main()
