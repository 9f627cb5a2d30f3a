"""Bundle of a diagnosis for support: JSON files in a ZIP archive, without secrets and records."""

import json
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

FILES_MAX = 200
# Values of so few characters would hide ordinary words.
SECRET_CHARACTERS_MIN = 4
HIDDEN = "(hidden)"
_SECRET_NAME = re.compile(r"TOKEN|SECRET|PASSWORD|PASSWD|PEPPER|CREDENTIAL|_KEY|HEADERS|AUTH", re.I)
_PATTERNS = (
    # Our tokens, JSON Web Tokens, keys of AWS, private keys.
    re.compile(r"(?:segp|it|lock)_[A-Za-z0-9_-]{20,}"),
    re.compile(r"eyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]*\.?[A-Za-z0-9_-]*"),
    re.compile(r"\b(?:AKIA|ASIA)[A-Za-z0-9]{12,}"),
    re.compile(
        r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)", re.S
    ),
    # Values after a name: in URLs, connection strings and headers.
    re.compile(r"(?<=://)[^/@\s]*@"),
    re.compile(
        r"(?i)(?<![a-z])(?:password|passwd|pwd|secret|token|signature|sig|api[_-]?key|access[_-]?key"
        r"|account[_-]?key|x-amz-[a-z-]+|x-goog-[a-z-]+)\s*[=:]\s*[^\s&;,'\"]+"
    ),
    re.compile(r"(?i)\b(?:bearer|basic)\s+[A-Za-z0-9._~+/=-]{4,}"),
)


def secrets_of(environment: Mapping[str, str]) -> Iterator[str]:
    """Yield the values of variables that hold secrets, and of the files that such name."""
    for name, value in environment.items():
        if not _SECRET_NAME.search(name) or len(value) < SECRET_CHARACTERS_MIN:
            continue
        if not name.endswith("_FILE"):
            yield value
            continue
        try:
            lines = Path(value).read_text().splitlines()
        except (OSError, UnicodeDecodeError):
            continue
        yield from (line.strip() for line in lines if len(line.strip()) >= SECRET_CHARACTERS_MIN)


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
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, value in list(files.items())[:FILES_MAX]:
            archive.writestr(name, json.dumps(_clean(value, hidden), indent=2))
    path.chmod(0o600)


def _clean(value: object, secrets: tuple[str, ...]) -> object:
    if isinstance(value, str):
        return redacted(value, secrets)
    if isinstance(value, Mapping):
        return {redacted(str(k), secrets): _clean(v, secrets) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(item, secrets) for item in value]
    return value
