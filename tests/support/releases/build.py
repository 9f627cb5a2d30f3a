"""Recipe of a release's environment: its wheels, built from git, over its own locked packages.

`python -m tests.support.releases.build 0.3.0` is what `make releases` runs. Nothing of the work
tree goes into the environment but the tool that installs (uv).
"""

import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

from tests.support.releases.release import ROOT, Release

UV = Path(sys.executable).with_name("uv")
# Projects of the tree, one wheel each.
PROJECTS = (".", "distributions/server")


def build(release: Release) -> None:
    """Build a release's wheels and install them into a separate environment."""
    shutil.rmtree(release.folder, ignore_errors=True)
    release.folder.mkdir(parents=True)
    tree = release.folder / "tree"
    export(release, tree)
    _run(UV, "venv", "--quiet", "--python", sys.executable, release.folder / "env")
    # The tools that build wheels, of ours and of packages that come as sources.
    _install(release, "--require-hashes", "-r", tree / "requirements" / "build.lock")
    _install(release, "--require-hashes", "-r", tree / "requirements" / "all.lock")
    dist = release.folder / "dist"
    wheel = (release.python, "-m", "hatchling", "build", "-t", "wheel", "-d", dist)
    for project in PROJECTS:
        _run(*wheel, cwd=tree / project)
    _install(release, "--no-deps", "--offline", *sorted(dist.glob("*.whl")))
    # What runs is the wheels: nobody shall import or read the tree by accident.
    shutil.rmtree(tree)
    release.ready.write_text(f"{release.commit}\n")


def export(release: Release, folder: Path) -> None:
    """Lay out the files of a release's commit."""
    command = ("git", "-C", ROOT, "archive", "--format=tar", release.commit)
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE) as archive,
        tarfile.open(fileobj=archive.stdout, mode="r|") as files,
    ):
        files.extractall(folder, filter="data")
    if archive.returncode != 0:
        raise SystemExit(f"git archive {release.commit} failed with {archive.returncode}")


def main(names: list[str]) -> None:
    """Build the releases that are named, where git has their commits."""
    for release in map(Release, names):
        if not release.is_in_clone:
            print(
                f"make releases: this clone lacks {release.commit}, so tests with release"
                f" {release.name} are skipped; `git fetch --unshallow` brings it",
                file=sys.stderr,
            )
        elif release.is_built:
            release.ready.touch()
        else:
            build(release)


def _install(release: Release, *arguments: str | Path) -> None:
    install = (UV, "pip", "install", "--quiet", "--no-build-isolation", "--python", release.python)
    _run(*install, *arguments)


def _run(*command: str | Path, cwd: Path = ROOT) -> None:
    """Run a command without the variables by which this environment's Python was set up."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "VIRTUAL_"))}
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, env=environment, capture_output=True, text=True
    )
    if done.returncode != 0:
        raise SystemExit(f"{command[0]} failed: {done.stdout}{done.stderr}")


if __name__ == "__main__":
    main(sys.argv[1:])
