"""Two wheels of one tree: what readers install brings no generic names into a notebook."""

import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.support.wheels import PACKAGES, ROOT, Wheels, build_wheels, copy_tree, names_in, unpack

TREE_ONLY = {
    *(ROOT / "segplane/kql", ROOT / "segplane/gateway/console/scripts"),
    ROOT / "segplane/deploy/dashboards",
}
PROCESSES = {"collector", "nursery", "merge_worker", "janitor"}
# Neither the tree nor an editable installation is on the path: -I and -S skip both.
IMPORT_ALL = """
import importlib, importlib.util, sys
sys.path[:0] = [sys.argv[1]]
sys.path.append(sys.argv[2])
for name in sys.stdin.read().split():
    module = importlib.import_module(name)
    assert module.__file__.startswith(sys.argv[1]), module.__file__
assert not {"segments", "kql", "dataplane"} & {*sys.modules}
for name in ("segments", "kql", "dataplane"):
    assert importlib.util.find_spec(name) is None, name
print("ok")
"""


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Wheels:
    return build_wheels(tmp_path_factory.mktemp("wheels"))


def import_all(folder: Path, modules: set[str]) -> None:
    """Import modules from a folder, with this environment's other packages."""
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", IMPORT_ALL, str(folder), sysconfig.get_path("purelib")],
        input="\n".join(sorted(modules)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "ok\n", done.stderr


def modules_of(wheel: Path) -> set[str]:
    """The modules in a wheel that can be imported anywhere: migrations need a database."""
    paths = (name.removesuffix(".py") for name in names_in(wheel) if name.endswith(".py"))
    modules = (path.removesuffix("/__init__").replace("/", ".") for path in paths)
    return {module for module in modules if not module.startswith("meta.migrations")}


@pytest.mark.long
def test_both_wheels_are_built_to_the_same_bytes_twice(wheels: Wheels, tmp_path: Path) -> None:
    again = build_wheels(tmp_path / "other place", 1_700_000_001)

    assert wheels.segplane.stat().st_size > 100_000
    assert wheels.segplane.read_bytes() == again.segplane.read_bytes()
    assert wheels.segplane_server.read_bytes() == again.segplane_server.read_bytes()


def test_readers_get_no_package_of_a_process_and_none_with_a_short_name(wheels: Wheels) -> None:
    tops = {name.partition("/")[0] for name in names_in(wheels.segplane)}

    assert tops == {"meta", "segplane", "pyspark_segplane"}


def test_the_processes_keep_their_names(wheels: Wheels) -> None:
    names = names_in(wheels.segplane_server)

    assert {name.partition("/")[0] for name in names} == {"meta", "segplane", *PROCESSES}
    assert {f"{name}/__main__.py" for name in (*PROCESSES, "meta", "segplane")} <= names


def test_each_file_of_the_tree_is_in_one_wheel(wheels: Wheels) -> None:
    in_tree = {
        re.sub("^(segments|kql|dataplane)/", r"segplane/\1/", str(path.relative_to(ROOT)))
        for name in PACKAGES
        for path in (ROOT / name).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and not TREE_ONLY & {*path.parents}
    }
    readers, server = names_in(wheels.segplane), names_in(wheels.segplane_server)

    assert not readers & server
    assert readers | server == in_tree


def test_the_console_has_its_templates_and_the_files_that_it_serves(wheels: Wheels) -> None:
    console = "segplane/gateway/console"
    served = {"static/console.css", "static/console.js", "static/vendor/htmx.min.js"}

    assert {f"{console}/{name}" for name in (*served, "templates/layout.html")} <= names_in(
        wheels.segplane_server
    )


def test_readers_get_no_more_of_meta_than_its_client(wheels: Wheels) -> None:
    modules = {name for name in modules_of(wheels.segplane) if name.startswith("meta")}

    assert {"meta.client", "meta.errors", "meta.v1.segment_lookup_pb2_grpc"} <= modules
    assert not {name for name in modules if name.startswith(("meta.store", "meta.services"))}


@pytest.mark.long
def test_every_module_of_readers_imports_without_the_server(wheels: Wheels, tmp_path: Path) -> None:
    unpack(wheels.segplane, tmp_path)

    import_all(tmp_path, modules_of(wheels.segplane))


@pytest.mark.long
def test_every_module_imports_where_both_are_installed(wheels: Wheels, tmp_path: Path) -> None:
    unpack(wheels.segplane, tmp_path)
    unpack(wheels.segplane_server, tmp_path)

    import_all(tmp_path, modules_of(wheels.segplane) | modules_of(wheels.segplane_server))


def test_messages_of_a_wheel_can_be_pickled(wheels: Wheels, tmp_path: Path) -> None:
    unpack(wheels.segplane, tmp_path)
    script = (
        "import sys, pickle; sys.path[:0] = [sys.argv[1]]; sys.path.append(sys.argv[2])\n"
        "from segplane.segments.v1.otlp_counts_pb2 import DESCRIPTOR\n"
        "from segplane.segments.v1 import otlp_counts_pb2 as stubs\n"
        "name = next(iter(DESCRIPTOR.message_types_by_name))\n"
        "message = getattr(stubs, name)()\n"
        "assert pickle.loads(pickle.dumps(message)) == message\n"
        "print(type(message).__module__)"
    )

    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", script, tmp_path, sysconfig.get_path("purelib")],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stdout == "segplane.segments.v1.otlp_counts_pb2\n", done.stderr


def test_an_import_of_a_process_by_readers_fails_the_build(tmp_path: Path) -> None:
    copy_tree(tmp_path / "tree")
    module = tmp_path / "tree" / "segments" / "offsets.py"
    module.write_text(module.read_text() + "\nfrom nursery import loop\n")

    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel"],
        cwd=tmp_path / "tree",
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode != 0
    assert "segments.offsets is of the readers and imports nursery.loop of a process" in done.stderr
