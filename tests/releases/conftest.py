"""Fixtures from a recorded release: its database, restored, and copies of its buckets."""

import json
import shutil
from pathlib import Path

import pytest

from meta import config
from meta.process.environment import Environment
from tests.releases import recorded_run
from tests.releases.recorded_catalog import Tokens
from tests.releases.recorded_run import COLD
from tests.support.releases import database
from tests.support.releases.release import RELEASE_BEFORE, Release


@pytest.fixture
def recorded() -> Release:
    """Give the release before; a test of an earlier one overrides this fixture."""
    return RELEASE_BEFORE


@pytest.fixture
def database_url(empty_database_url: str, recorded: Release) -> str:
    """Give the recorded database, at the revision of its release."""
    database.restore(empty_database_url, recorded.fixtures / "database.sql")
    return empty_database_url


@pytest.fixture
def objects(tmp_path: Path, recorded: Release) -> Path:
    """Give a copy of the recorded bucket, beside one of the second store if there is one."""
    cold = recorded.fixtures / COLD
    if cold.is_dir():
        shutil.copytree(cold, tmp_path / COLD)
    return shutil.copytree(recorded.fixtures / "bucket", tmp_path / "objects")


@pytest.fixture
def meta_settings(database_url: str, objects: Path) -> config.Settings:
    """Settings of the recorded meta, as today's meta reads them; it migrates when it starts."""
    settings = recorded_run.meta_settings(database_url, objects)
    return config.load(Environment("META_", settings))


@pytest.fixture
def tokens(recorded: Release) -> Tokens:
    """Plaintexts of the recorded tokens."""
    return Tokens(**json.loads((recorded.fixtures / "tokens.json").read_text()))
