"""Completion by shells: names from a real meta, and an installation that a real shell reads."""

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from segplane.__main__ import app
from segplane.cli.environment.completion import VARIABLE, install, script
from tests.support.command_line import RunCommand
from tests.support.meta.server import MetaServer


def offered(line: str, address: str) -> set[str]:
    """Return the words that a shell is offered for the last one of a line."""
    words = f"segplane {line}"
    environment = {
        VARIABLE: "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(words.count(" ")),
        "SEGPLANE_META_ADDRESS": address,
    }
    result = CliRunner().invoke(app, env=environment, prog_name="segplane")
    return {text.partition(",")[2] for text in result.stdout.splitlines() if text}


@pytest.fixture
def named_things(run: RunCommand) -> None:
    for name in ("web", "web-eu", "mobile", "two words"):
        run("datasets", "create", name)
    run("groups", "create", "weather")
    run("datasets", "create", "weather/wind")
    run("views", "create", "errors")


@pytest.mark.usefixtures("named_things")
def test_names_are_those_that_meta_has(meta_server: MetaServer) -> None:
    address = meta_server.address

    assert offered("datasets show we", address) == {"web", "web-eu", "weather/"}
    assert offered("datasets show weather/", address) == {"weather/wind"}
    # A name with a space would be two words of the line.
    assert offered("segments find --dataset t", address) == set()
    assert offered("why mo", address) == {"mobile"}
    assert offered("views show e", address) == {"errors"}
    assert offered("datasets sho", address) == {"show"}


def test_without_meta_commands_and_options_are_completed_and_names_are_not() -> None:
    assert offered("datasets show we", "127.0.0.1:1") == set()
    assert "--json" in offered("datasets show --j", "127.0.0.1:1")


@pytest.mark.usefixtures("named_things")
def test_bash_completes_after_one_installation(
    meta_server: MetaServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    (tmp_path / ".bashrc").write_text("alias ll='ls -l'")
    for _ in range(2):
        install("bash")

    lines = (tmp_path / ".bashrc").read_text().splitlines()
    assert len(lines) == 2
    completing = f"""
        . {tmp_path}/.bashrc
        COMP_WORDS=(segplane datasets show web-) COMP_CWORD=3
        _segplane_completion segplane web- show
        echo "${{COMPREPLY[*]}}"
    """
    shell = subprocess.run(
        ["bash", "--norc", "-c", completing],
        env={
            "HOME": str(tmp_path),
            "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
            "SEGPLANE_META_ADDRESS": meta_server.address,
        },
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert shell.stdout.split() == ["web-eu"]


def test_zsh_and_fish_have_scripts_and_others_are_refused(
    run: RunCommand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_CONFIG_HOME", "ZDOTDIR"):
        monkeypatch.delenv(name, raising=False)

    assert script("zsh").startswith("#compdef segplane")
    assert run("completion", "fish", "--install").exit_code == 0
    assert (tmp_path / ".config/fish/completions/segplane.fish").is_file()
    assert run("completion", "zsh", "--install").exit_code == 0
    assert str(tmp_path / ".config/segplane/completion.zsh") in (tmp_path / ".zshrc").read_text()
    refused = run("completion", "tcsh")
    assert refused.exit_code == 2
    assert "expected one of bash, zsh, fish" in refused.stderr
