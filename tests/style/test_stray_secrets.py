"""Secrets are made and compared in meta/secrets.py, and nowhere else."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = (
    "meta",
    "segments",
    "collector",
    "nursery",
    "merge_worker",
    "janitor",
    "segplane",
    "pyspark_segplane",
)
HOME = "meta/secrets.py"
_MODULES = {"hmac", "secrets"}
_CALLS = {"compare_digest", "urandom", "token_bytes", "token_hex", "token_urlsafe"}
_SECRET = re.compile(r"(^|_)(digest|hexdigest|secret|plaintext|token|password|pepper)$")
# Comparisons and random bits that are about no secret, and why.
ALLOWED = {
    "segments/ids.py": (1, "random bits of an identifier"),
    "collector/intake/intake.py": (
        1,
        "an export that is under way, and which records it is without",
    ),
    "collector/streams/stream.py": (2, "random bits of a flush's identifier"),
    "collector/servers/records_http.py": (1, "random bits of a body's identifier"),
    "collector/streams/flusher.py": (
        3,
        "a flush's identifier; exports in memory, grouped by their token",
    ),
    "meta/store/access/access_tokens.py": (1, "an index finds keyed digests"),
    "meta/store/iceberg/table_metadata.py": (1, "a checksum of object keys"),
    "meta/config.py": (1, "a word of the settings in place of a pepper"),
    "segments/corrected_baby.py": (1, "a checksum of an export"),
    "segplane/gateway/iceberg/metadata/publication.py": (1, "a checksum of a document"),
}


def strays(source: str) -> list[str]:
    """List lines that make or compare secrets, as `line: expression`."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            module = getattr(node, "module", None)
            names = {module} if module else {alias.name for alias in node.names}
            is_stray = not getattr(node, "level", 0) and bool(names & _MODULES)
        elif isinstance(node, ast.Call):
            is_keyed = any(keyword.arg == "key" for keyword in node.keywords)
            name = _name(node.func)
            is_stray = name in _CALLS or (is_keyed and name.startswith("blake2"))
        elif isinstance(node, ast.Compare):
            is_stray = _compares_secrets(node)
        else:
            continue
        if is_stray:
            found.append(f"{node.lineno}: {ast.unparse(node)}")
    return found


def _compares_secrets(node: ast.Compare) -> bool:
    if not all(isinstance(operator, (ast.Eq, ast.NotEq)) for operator in node.ops):
        return False
    sides = [node.left, *node.comparators]
    # Beside a literal it is about what kind of text it is, such as an empty one.
    if any(isinstance(side, ast.Constant) for side in sides):
        return False
    return any(_SECRET.search(_name(side)) for side in sides)


def _name(node: ast.expr) -> str:
    if isinstance(node, ast.Call):
        return _name(node.func)
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def test_secrets_are_made_and_compared_in_one_module() -> None:
    found = {}
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            name = str(path.relative_to(ROOT))
            lines = [] if name == HOME else strays(path.read_text())
            if len(lines) != ALLOWED.get(name, (0, ""))[0]:
                found[name] = lines

    assert not found, f"use {HOME} for these"


@pytest.mark.parametrize(
    "source",
    [
        "import hmac",
        "from secrets import token_bytes",
        "hmac.compare_digest(a, b)",
        "os.urandom(16)",
        "hashlib.blake2b(b, key=k)",
        "sha256(a).digest() == b",
        "if shown_token != expected: pass",
        "stored.token_digest == digest",
    ],
)
def test_a_stray_is_found(source: str) -> None:
    assert strays(source)


@pytest.mark.parametrize(
    "source",
    ["token == ''", "from meta.secrets import is_same", "hashlib.sha256(a).digest()", "a == b"],
)
def test_other_code_is_not_a_stray(source: str) -> None:
    assert not strays(source)
