"""Profiles of the command line: what counts first, what is refused, and where credentials go."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from meta.config import Settings
from meta.roles import Role
from segplane.__main__ import app
from segplane.cli.environment import profiles
from tests.support.meta.guarded import GuardedServer, guarded

Run = Callable[..., Result]


@pytest.fixture
def guard(meta_settings: Settings) -> Iterator[GuardedServer]:
    with guarded(meta_settings) as running:
        yield running


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of config.toml, and an environment without settings of the command line."""
    for name in list(os.environ):
        if name.startswith("SEGPLANE_") and name != "SEGPLANE_SPARK_MASTER":
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "segplane").mkdir()
    return tmp_path / "segplane"


@pytest.fixture
def run() -> Run:
    return lambda *arguments, **environment: CliRunner().invoke(app, arguments, env=environment)


def write(folder: Path, *lines: str) -> None:
    (folder / "config.toml").write_text("\n".join(lines))


def test_a_profile_has_address_and_token_and_option_and_environment_come_first(
    folder: Path, run: Run, guard: GuardedServer, tmp_path: Path
) -> None:
    token = tmp_path / "token"
    token.write_text(guard.token(Role.ADMIN).plaintext_token)
    write(
        folder,
        'profile = "here"',
        f'[profiles.here]\nmeta_address = "{guard.address}"\nmeta_auth_token_file = "{token}"',
        '[profiles.away]\nmeta_address = "127.0.0.1:1"',
    )
    listing = ("datasets", "list", "--json")
    before = dict(os.environ)

    assert run(*listing).exit_code == 0
    assert run("--profile", "here", *listing, SEGPLANE_CLI_PROFILE="away").exit_code == 0
    assert run(*listing, SEGPLANE_CLI_PROFILE="away").exit_code == 3
    by_environment = {
        "SEGPLANE_META_ADDRESS": guard.address,
        "SEGPLANE_META_AUTH_TOKEN": token.read_text(),
    }
    assert run("--profile", "away", *listing, **by_environment).exit_code == 0
    assert run("--profile", "away", *listing, "--meta-address", guard.address).exit_code == 1
    # An environment's token stands before the profile's.
    assert run(*listing, SEGPLANE_META_AUTH_TOKEN="wrong").exit_code == 1
    assert dict(os.environ) == before


def test_with_another_address_the_token_of_a_profile_is_not_sent(
    folder: Path, run: Run, guard: GuardedServer, tmp_path: Path
) -> None:
    token = tmp_path / "token"
    token.write_text(guard.token(Role.ADMIN).plaintext_token)
    write(
        folder,
        'profile = "a"',
        f'[profiles.a]\nmeta_address = "127.0.0.1:1"\nmeta_auth_token_file = "{token}"',
    )

    for given in (("--meta-address", guard.address), (f"--meta-address={guard.address}",)):
        done = run("datasets", "list", *given)
        assert (done.exit_code, "segplane login" in done.stderr) == (1, True), done.stderr
    done = run("datasets", "list", SEGPLANE_META_ADDRESS=guard.address)
    assert (done.exit_code, "segplane login" in done.stderr) == (1, True), done.stderr


def test_config_show_has_the_profile_in_force(folder: Path, run: Run) -> None:
    write(folder, 'profile = "a"', '[profiles.a]\ntenant = "x"', '[profiles.b]\ntenant = "y"')

    for arguments, value in (((), "x"), (("--profile", "b"), "y")):
        shown = json.loads(run(*arguments, "config", "show", "--json").stdout)["settings"]
        (row,) = [row for row in shown if row["setting"] == "SEGPLANE_TENANT"]
        assert row["value"] == value
        assert str(folder / "config.toml") in row["source"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("profile =", "cannot be read"),
        ("other = 1", "expected profile = NAME"),
        ('profile = "b"\n[profiles.a]', "there is no profile 'b', there is 'a'"),
        ("[profiles.a]\nmeta_auth_token = 'x'\n", "is a secret"),
        ("[profiles.a]\nadress = 'x'\n", "'a' has 'adress', expected some of meta_address"),
        ("[profiles.a]\nmeta_address = 9500\n", "expected a text"),
        ("profiles = 3", "expected profile = NAME"),
        (None, "there is no profile 'a'"),
    ],
)
def test_what_a_file_may_not_say_is_refused(
    folder: Path, run: Run, content: str | None, said: str
) -> None:
    if content is not None:
        write(folder, content)
    named = () if content is not None and content.startswith("profile =") else ("--profile", "a")

    done = run(*named, "status")

    assert (done.exit_code, done.stdout) == (2, "")
    assert said in done.stderr


def test_each_key_is_a_setting_that_is_documented() -> None:
    page = Path("docs/settings.md").read_text()

    assert [key for key in profiles.KEYS if f"`SEGPLANE_{key.upper()}`" not in page] == []
