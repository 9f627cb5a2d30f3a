"""The base requirements' floors are the versions that the committed stubs demand when imported."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
STUBS = ROOT / "meta" / "v1"


def floors() -> dict[str, str]:
    """Read `name>=version` of the base install from pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return dict(requirement.split(">=") for requirement in project["dependencies"])


def test_grpcio_floor_is_what_the_stubs_demand() -> None:
    demanded = {
        found
        for stub in STUBS.glob("*_pb2_grpc.py")
        for found in re.findall(r"^GRPC_GENERATED_VERSION = '(.+)'", stub.read_text(), re.M)
    }

    assert demanded == {floors()["grpcio"]}


def test_protobuf_floor_is_what_the_stubs_demand() -> None:
    demanded = {
        found
        for stub in STUBS.glob("*_pb2.py")
        for found in re.findall(r"^# Protobuf Python Version: (.+)$", stub.read_text(), re.M)
    }

    assert demanded == {floors()["protobuf"]}
