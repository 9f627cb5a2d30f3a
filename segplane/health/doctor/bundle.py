"""Bundle of a diagnosis for support: JSON files in a ZIP archive, without secrets and records."""

import json
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from segplane.terminal.whole_files import whole_file

FILES_MAX = 200
# Values of so few characters would hide ordinary words.
SECRET_CHARACTERS_MIN = 4
HIDDEN = "(hidden)"
_SECRET_NAME = re.compile(
    r"TOKEN|SECRET|PASSWORD|PASSWD|PEPPER|CREDENTIAL|_KEY|HEADERS|_AUTH|AUTH_", re.I
)
# Values of settings that are no secrets, though their names look like it.
_PLAIN_VALUES = {"true", "false", "none", "auto"}
_URL_PASSWORD = re.compile(r"(?<=://)[^/\s:]*:(.+)@[^@/]*")
_PATTERNS = (
    # Our tokens, JSON Web Tokens, keys of AWS, private keys.
    re.compile(r"(?:segp|it|lock)_[A-Za-z0-9_-]{20,}"),
    re.compile(r"eyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]*\.?[A-Za-z0-9_-]*"),
    re.compile(r"\b(?:AKIA|ASIA)[A-Za-z0-9]{12,}"),
    re.compile(
        r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)", re.S
    ),
    # Values after a name: in URLs, connection strings and headers.
    re.compile(r"(?<=://)[^@\s]*@"),
    re.compile(
        r"(?i)(?<![a-z])[a-z_-]*(?:password|passwd|pwd|secret|token|pepper|signature|sig|api[_-]?key"
        r"|access[_-]?key|account[_-]?key|x-amz-[a-z-]+|x-goog-[a-z-]+)[\"']?\s*[=:]\s*"
        r"(?:\"[^\"]*\"|'[^']*'|[^\s&;,'\"]+)"
    ),
    re.compile(r"(?i)\b(?:bearer|basic|token)\s+[A-Za-z0-9._~+/=-]{8,}"),
)


def secrets_of(environment: Mapping[str, str]) -> Iterator[str]:
    """Yield the values of variables that hold secrets, and of the files that such name.

    A value of several lines is several secrets. Of a URL its password is one.
    """
    for name, value in environment.items():
        if match := _URL_PASSWORD.search(value):
            yield match[1]
        if _SECRET_NAME.search(name):
            yield from _lines_of(_content(value) if name.endswith("_FILE") else value)


def _content(path: str) -> str:
    try:
        return Path(path).read_text()
    except (OSError, UnicodeDecodeError):
        return ""


def _lines_of(text: str) -> Iterator[str]:
    for line in map(str.strip, text.splitlines()):
        if len(line) >= SECRET_CHARACTERS_MIN and line.lower() not in _PLAIN_VALUES:
            yield line


def redacted(text: str, secrets: Iterable[str]) -> str:
    """Return a text in which secrets are hidden: those that are given, and what looks like one."""
    for secret in sorted(set(secrets), key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    for pattern in _PATTERNS:
        text = pattern.sub(HIDDEN, text)
    return text


def write(path: Path, files: Mapping[str, object], secrets: Iterable[str]) -> None:
    """Write values as JSON files; each text in them is redacted by itself. Raises OSError."""
    hidden = tuple(secrets)
    with (
        whole_file(path, mode=0o600) as file,
        zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive,
    ):
        for name, value in list(files.items())[:FILES_MAX]:
            archive.writestr(name, json.dumps(_clean(value, hidden), indent=2))


def _clean(value: object, secrets: tuple[str, ...]) -> object:
    if isinstance(value, str):
        return redacted(value, secrets)
    if isinstance(value, Mapping):
        return {redacted(str(k), secrets): _clean(v, secrets) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(item, secrets) for item in value]
    return value
