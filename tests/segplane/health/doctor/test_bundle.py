"""A bundle for support holds no secret, wherever one was planted."""

import json
import random
import string
import zipfile
from pathlib import Path

import pytest

from segplane.health.doctor import bundle


def word(seed: int, characters: int = 24) -> str:
    return "".join(random.Random(seed).choices(string.ascii_letters + string.digits, k=characters))


# Texts with a secret in the place of {}, as messages of processes and libraries have them.
TEXTS = (
    "postgresql://meta:{}@db.internal/segplane",
    "postgresql://db/segplane?user=meta&password={}&sslmode=require",
    "host=db user=meta password={} dbname=segplane",
    "authorization: Bearer {}",
    "Authorization=Basic {}",
    "authorization=Bearer {}",
    "https://user:{}@s3.example.com/bucket",
    "https://b.s3.amazonaws.com/k?X-Amz-Signature={}&X-Amz-Date=1",
    "https://b.s3.amazonaws.com/k?X-Amz-Security-Token={}",
    "https://b.blob.core.windows.net/c?sv=2024&sig={}&se=1",
    "https://storage.googleapis.com/b?X-Goog-Signature={}",
    "AccountKey={};EndpointSuffix=core.windows.net",
    "the request failed, api_key={}",
    "token={} was refused",
    "secret: {}",
    "AKIA{}",
    '{{"aws_secret_access_key": "{}"}}',
    "password = '{}'",
    'token="{}"',
    "pepper={}",
    "Authorization: Token {}",
    "postgresql://u:a/b{}@host/db",
    "segp_{}_x",
    "it_{}",
    "lock_{}",
    "eyJhbGciOiJSUzI1NiJ9.{}.sig",
    "-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----",
)
VARIABLES = (
    *("META_AUTH_TOKEN", "META_TOKEN_PEPPER", "META_TOKEN_PEPPER_NEXT", "SEGPLANE_INGEST_TOKEN"),
    *("SEGPLANE_META_AUTH_TOKEN", "GATEWAY_AUTH_TOKEN", "AWS_SECRET_ACCESS_KEY", "PGPASSWORD"),
    *("AWS_SESSION_TOKEN", "AWS_ACCESS_KEY_ID", "AZURE_CLIENT_SECRET", "AZURE_STORAGE_KEY"),
    *("GATEWAY_CONSOLE_KEY", "MY_PASSWD", "GOOGLE_CREDENTIALS", "OTEL_EXPORTER_OTLP_HEADERS"),
    *("DB_PASSWORD", "API_TOKEN", "HTTP_AUTH"),
)


def test_forty_secrets_are_planted_and_none_is_there(tmp_path: Path) -> None:
    in_texts = {text.replace("{}", word(n)): word(n) for n, text in enumerate(TEXTS)}
    in_variables = {name: word(100 + n) for n, name in enumerate(VARIABLES)}
    file = tmp_path / "token"
    file.write_text(f"{word(999)}\n{word(998)}\n")
    environment = {
        **in_variables,
        "META_AUTH_TOKEN_FILE": str(file),
        "HOME": "/home/me",
        "GATEWAY_CONSOLE_KEYS": f"{word(990)}\n{word(991)}",
        "META_DATABASE_URL": f"postgresql://meta:{word(992)}@db/segplane",
        "TOKENIZERS_PARALLELISM": "false",
    }
    in_lines = [word(number) for number in (990, 991, 992, 998, 999)]
    planted = [*in_texts.values(), *in_variables.values(), *in_lines]
    assert len(planted) >= 40
    written = {
        "doctor.json": {"checks": [{"text": text} for text in in_texts]},
        "processes.json": [{"checks": [f"it said {secret}"]} for secret in planted[len(TEXTS) :]],
        "names.json": {
            f"key {in_variables['META_AUTH_TOKEN']}": 1,
            "kept": "web, 12 flushes, false",
        },
    }

    path = tmp_path / "bundle.zip"
    bundle.write(path, written, bundle.secrets_of(environment))

    with zipfile.ZipFile(path) as archive:
        texts = {name: archive.read(name).decode() for name in archive.namelist()}
    assert [s for s in planted if any(s in text for text in texts.values())] == []
    assert json.loads(texts["names.json"])["kept"] == "web, 12 flushes, false"
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "text",
    ["web: records wait for 7 min", "meta answers at version 12", "/var/lib/segplane/data", "ok"],
)
def test_ordinary_texts_stay(text: str) -> None:
    assert bundle.redacted(text, ["abcd"]) == text
