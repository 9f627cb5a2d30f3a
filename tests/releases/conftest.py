"""Fixtures from the release before: its database, restored, and a copy of its bucket."""

import json
import shutil
from pathlib import Path

import pytest

from meta import config
from meta.process import Environment
from tests.releases import recorded_run
from tests.releases.recorded_catalog import Tokens
from tests.support.releases import database
from tests.support.releases.release import RELEASE_BEFORE


@pytest.fixture
def database_url(empty_database_url: str) -> str:
    """Give the recorded database, at the revision of its release."""
    database.restore(empty_database_url, RELEASE_BEFORE.fixtures / "database.sql")
    return empty_database_url


@pytest.fixture
def objects(tmp_path: Path) -> Path:
    """Give a copy of the recorded bucket."""
    return shutil.copytree(RELEASE_BEFORE.fixtures / "bucket", tmp_path / "objects")


@pytest.fixture
def meta_settings(database_url: str, objects: Path) -> config.Settings:
    """Settings of the recorded meta, as today's meta reads them; it migrates when it starts."""
    settings = recorded_run.meta_settings(database_url, objects)
    return config.load(Environment("META_", settings))


@pytest.fixture
def tokens() -> Tokens:
    """Plaintexts of the recorded tokens."""
    return Tokens(**json.loads((RELEASE_BEFORE.fixtures / "tokens.json").read_text()))
