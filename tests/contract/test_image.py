"""The images hold what their processes need: no root, compilers, installers; Java for Spark only.

No container engine runs here: the recipe is read, not built.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from segplane.deploy.images import IMAGES

ROOT = Path(__file__).parents[2]
SPARK = {"nursery", "merge-worker"}
OURS = {"meta", "collector", "janitor", "gateway", "front", "bucket", "certificates", *SPARK}
_LINE_END = re.compile(r"\\\n")
_BY_DIGEST = re.compile(r"[a-z0-9./-]+:[a-z0-9.-]+@sha256:[0-9a-f]{64}")
_COMPILERS = re.compile(r"\b(gcc|g\+\+|clang|make|build-essential|cargo|rustc|maven|jdk)\b")


@dataclass(frozen=True)
class Stage:
    """A stage of the recipe: what it begins from, and its instructions."""

    base: str
    instructions: tuple[tuple[str, str], ...]

    def all_of(self, keyword: str) -> list[str]:
        return [rest for word, rest in self.instructions if word == keyword]


def _stages() -> dict[str, Stage]:
    text = _LINE_END.sub(" ", (ROOT / "Dockerfile").read_text())
    lines = [line.split(maxsplit=1) for line in text.splitlines() if line and line[0] != "#"]
    stages: dict[str, Stage] = {}
    for word, rest in lines:
        if word == "FROM":
            base, name = rest.split(" AS ")
            stages[name] = Stage(base, ())
        else:
            stage = stages[name]
            stages[name] = Stage(stage.base, (*stage.instructions, (word, rest)))
    return stages


def _image(name: str) -> list[Stage]:
    """The stages that an image consists of, from the outermost on."""
    stages, image = _stages(), list[Stage]()
    while name in stages:
        image.append(stages[name])
        name = stages[name].base
    assert name.startswith("python:3.11-slim-bookworm@")
    return image


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    services: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    return services


def test_images_of_others_are_named_by_digest(services: dict[str, Any]) -> None:
    stages = _stages()
    bases = {stage.base for stage in stages.values()} - set(stages)
    others = {service["image"] for service in services.values() if "build" not in service}

    # The list says where each digest comes from, and that none was pulled here.
    assert bases | others == {image.reference for image in IMAGES.values()}
    assert [image for image in bases | others if not _BY_DIGEST.fullmatch(image)] == []
    assert all(image.source for image in IMAGES.values())


@pytest.mark.parametrize("name", ["services", "spark"])
def test_an_image_runs_as_another_user_than_root_and_installs_no_packages_of_python(
    name: str,
) -> None:
    image = _image(name)
    commands = [command for stage in image for command in stage.all_of("RUN")]

    assert image[0].instructions[-1] == ("USER", "10001:10001")
    assert not any(_COMPILERS.search(command) for command in commands)
    assert [command for command in commands if "pip" in command] == [
        command for command in commands if "python -m pip uninstall --yes pip" in command
    ]
    assert any("pip uninstall --yes pip setuptools wheel" in command for command in commands)
    # What is copied is an environment that was finished elsewhere.
    copied = [rest for stage in image for rest in stage.all_of("COPY")]
    assert len(copied) == 1
    assert copied[0].endswith(" /opt/segplane /opt/segplane")


def test_only_the_image_of_spark_has_java_and_spark() -> None:
    java = {
        name
        for name, stage in _stages().items()
        if any("jre" in command for command in stage.all_of("RUN"))
    }
    (copied,) = _stages()["services"].all_of("COPY")

    assert java == {"spark"}
    assert copied.startswith("--from=build-services ")
    assert _stages()["build-services"].all_of("RUN") == ["uv pip uninstall pyspark py4j"]


def test_the_environment_that_is_copied_holds_no_installer() -> None:
    installed = _stages()["build"].all_of("RUN")

    assert "uv pip uninstall editables hatchling setuptools uv wheel" in installed[-1]
    # An environment that uv makes has no pip.
    assert "uv venv /opt/segplane" in installed[0]
    assert all(
        "--require-hashes" in command
        for command in re.findall(r"install .*?-r \S+", " ".join(installed))
    )


@pytest.mark.parametrize("name", sorted(OURS))
def test_a_process_has_a_read_only_file_system_and_no_privileges(
    services: dict[str, Any], name: str
) -> None:
    service = services[name]
    is_spark = name in SPARK

    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["build"]["target"] == ("spark" if is_spark else "services")
    assert service["image"] == ("segplane-spark" if is_spark else "segplane")
    # Spark loads libraries that it unpacks there, which a tmpfs of Docker does not allow.
    volumes = [volume for volume in service.get("volumes", []) if "certificates" not in volume]
    assert (service.get("tmpfs"), volumes) == ((None, ["/tmp"]) if is_spark else (["/tmp"], []))
