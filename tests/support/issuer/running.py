"""A real OpenID Connect issuer, npm's oidc-provider, and a person who logs in there."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urljoin

import pytest
import requests

from tests.support.waiting import wait_until

HOME = Path(__file__).parents[3] / "build" / "issuer"
SCRIPT = Path(__file__).with_name("issuer.mjs")
STEPS_MAX = 10
_ACTION = re.compile(r'action="([^"]+)"')
_PROMPT = re.compile(r'name="prompt" value="(\w+)"')


@contextmanager
def running_issuer(folder: Path, public_url: str, secret: str) -> Iterator[str]:
    """Run an issuer for a console; gives its URL. Skips the test where it is not installed."""
    node = shutil.which("node")
    if node is None or not (HOME / ".ready").exists():
        pytest.skip(f"{HOME.name} is not there: `make issuer` installs it (needs npm)")
    output = folder / "issuer.log"
    with output.open("wb") as log:
        process = subprocess.Popen(
            [node, str(SCRIPT), public_url, secret], cwd=HOME, stdout=log, stderr=log
        )
    try:
        wait_until(lambda: bool(_url(output)), "the issuer serves", seconds=60)
        yield _url(output)
    finally:
        process.terminate()
        process.wait(30)


def _url(output: Path) -> str:
    match = re.search(r"^(http://127\.0\.0\.1:\d+)$", output.read_text(), re.MULTILINE)
    return match[1] if match else ""


class IssuerPage:
    """A person's browser at the issuer, which keeps its session."""

    def __init__(self) -> None:
        self.session = requests.Session()
        self.logins = 0

    def consent(self, address: str, client: str) -> str:
        """Log in and agree where the issuer asks; return the address at the client."""
        for _ in range(STEPS_MAX):
            answer = self.session.get(address, allow_redirects=False, timeout=20)
            if answer.status_code == 200:
                (prompt,) = _PROMPT.findall(answer.text)
                self.logins += prompt == "login"
                form = {"prompt": prompt, "login": "ann", "password": "any"}
                action = urljoin(address, _ACTION.findall(answer.text)[0])
                answer = self.session.post(action, form, allow_redirects=False, timeout=20)
            address = urljoin(address, answer.headers["location"])
            if address.startswith(client):
                return address
        raise AssertionError(f"no way back to {client} after {STEPS_MAX} steps")
