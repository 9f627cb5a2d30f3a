"""The settings of docs/object-stores.md for each kind of store, as a new operator tries them."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from segments.location import StoreLocation, parse_named_stores
from tests.e2e.conftest import PACE
from tests.support.documentation import blocks_of
from tests.support.object_store import clouds
from tests.support.object_store.versitygw import ACCESS_KEY, SECRET_KEY
from tests.support.waiting import wait_until

PAGE = "docs/object-stores.md"
STORES = ("file", "s3", "gcs", "azure")
TRIAL = len(STORES)
NAMED_STORES, MOVES = TRIAL + 1, TRIAL + 2
BIN = Path(sys.executable).parent
SECRETS = {"AWS_ACCESS_KEY_ID": ACCESS_KEY, "AWS_SECRET_ACCESS_KEY": SECRET_KEY}
# Of the banner that `segplane dev` prints.
_OTLP = re.compile(r"Send OTLP to +(http://\S+) ")
_META = re.compile(r"^meta +(\S+)$", re.MULTILINE)


def block(place: int) -> str:
    blocks = [b.text for b in blocks_of(PAGE) if b.language == "bash"]
    assert len(blocks) == MOVES + 1
    return blocks[place]


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that Postgres may enter, which pytest's are closed to."""
    made = Path(tempfile.mkdtemp(prefix="segplane-e2e-"))
    made.chmod(0o711)
    yield made
    shutil.rmtree(made, ignore_errors=True)


@pytest.fixture
def location(request: pytest.FixtureRequest, kind: str, folder: Path) -> StoreLocation:
    if kind == "file":
        return StoreLocation.from_url((folder / "objects").as_uri())
    name = "versitygw" if kind == "s3" else kind
    made: StoreLocation = request.getfixturevalue(f"{name}_location")
    return made


def exported(text: str) -> dict[str, str]:
    """Run a block in a shell that knows nothing else; returns what it exports."""
    shell = ["bash", "-ec", f"{text}\nenv -0"]
    done = subprocess.run(shell, env={}, capture_output=True, text=True, check=True)
    pairs = (line.split("=", 1) for line in done.stdout.split("\0") if line)
    return {name: value for name, value in pairs if name not in ("PWD", "SHLVL", "_", "OLDPWD")}


def in_place(settings: Mapping[str, str], location: StoreLocation) -> dict[str, str]:
    """The page's settings with the test's store and secrets in place of the example's."""
    own = {"SEGPLANE_OBJECT_STORE_URL": location.url(), **SECRETS}
    own["AZURE_STORAGE_KEY"] = clouds.ACCOUNT_KEY
    # The emulator takes no credentials, and has an address without TLS.
    left_out = {"GOOGLE_APPLICATION_CREDENTIALS"}
    return {name: own[name] for name in settings if name not in left_out}


@pytest.mark.parametrize("kind", STORES)
def test_the_example_names_a_location_and_no_more_than_its_credentials(kind: str) -> None:
    settings = exported(block(STORES.index(kind)))

    location = StoreLocation.from_url(settings["SEGPLANE_OBJECT_STORE_URL"])
    assert location.provider == kind
    credentials = {
        "file": set(),
        "s3": set(SECRETS),
        "gcs": {"GOOGLE_APPLICATION_CREDENTIALS"},
        "azure": {"AZURE_STORAGE_KEY"},
    }
    assert settings.keys() - {"SEGPLANE_OBJECT_STORE_URL"} == credentials[kind]


def named_stores(folder: Path) -> str:
    """The page's named stores, with folders of the test in their place."""
    text = exported(block(NAMED_STORES))["META_OBJECT_STORES"]
    names = [store.name for store in parse_named_stores(text)]
    for name in names:
        (folder / name).mkdir()
    return ",".join(f"{name}={(folder / name).as_uri()}" for name in names)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", STORES)
def test_a_new_operator_tries_the_settings_of_a_store(
    kind: str, location: StoreLocation, folder: Path
) -> None:
    named = exported(block(STORES.index(kind)))
    foreign = ("AWS_", "AZURE_", "GOOGLE_", "META_", "SEGPLANE_")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    environment = {
        **clean,
        **PACE,
        "AWS_EC2_METADATA_DISABLED": "true",
        "PATH": f"{BIN}:{os.environ['PATH']}",
        **in_place(named, location),
        "META_OBJECT_STORES": named_stores(folder),
    }
    ports = [f"--{name}-port=0" for name in ("meta", "otlp-grpc", "otlp-http", "gateway")]
    with (folder / "dev.log").open("w") as log:
        dev = subprocess.Popen(
            ["segplane", "dev", *ports], cwd=folder, env=environment, stdout=log, stderr=log
        )
    try:
        banner = _banner(dev, folder / "dev.log")
        shell = {
            **environment,
            "SEGPLANE_OTLP_ENDPOINT": _only(_OTLP, banner),
            "SEGPLANE_META_ADDRESS": _only(_META, banner),
        }
        # The page moves a dataset of another name.
        moves = block(MOVES).replace(" web", " default")
        text = f"{block(TRIAL)}\n{moves}\nsegplane query 'default | count'\n"
        done = subprocess.run(
            ["bash", "-ec", text], cwd=folder, env=shell, capture_output=True, text=True
        )
    finally:
        dev.send_signal(signal.SIGTERM)
        dev.wait(120)

    assert done.returncode == 0, done.stdout + done.stderr + banner
    assert "10 records merged" in done.stdout
    assert done.stdout.count("COUNT\n   10\n") == 2
    assert re.findall(r" default +done .* (\w+)$", done.stdout, re.MULTILINE) == ["cold", "default"]
    assert "0 damaged, 0 not read" in done.stdout


def _banner(dev: "subprocess.Popen[bytes]", log: Path) -> str:
    def is_ready() -> bool:
        assert dev.poll() is None, log.read_text()
        return "Ctrl-C stops everything" in log.read_text()

    wait_until(is_ready, "segplane dev to be ready", seconds=180)
    return log.read_text()


def _only(pattern: "re.Pattern[str]", banner: str) -> str:
    match = pattern.search(banner)
    assert match, banner
    return match[1]
