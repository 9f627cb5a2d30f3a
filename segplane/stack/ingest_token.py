"""Default ingest token of `segplane dev`, kept in a file: meta shows a token's secret once."""

from pathlib import Path

from meta.client import MetaClient
from meta.errors import TokenUnknown
from meta.v1 import ingest_token_pb2 as pb
from meta.v1 import ingestion_pb2
from segments.ids import new_uuid7
from segplane.terminal.whole_files import whole_file


def ready_token(client: MetaClient, path: Path) -> str:
    """Return the token that the file holds, or a new one, written there for its owner alone."""
    token = kept(path)
    if token and _is_valid(client, token):
        return token
    config = client.ingestion.DownloadConfig(ingestion_pb2.DownloadConfigRequest(worker_id="dev"))
    created = client.ingest_token.CreateIngestToken(
        pb.CreateIngestTokenRequest(
            # Names of tokens are never reused, so each one is new.
            name=f"dev {new_uuid7()}",
            dataset_name=config.default_dataset.name,
        )
    )
    with whole_file(path, mode=0o600) as file:
        file.write(f"{created.plaintext_token}\n".encode())
    return created.plaintext_token


def path_in(data_dir: Path) -> Path:
    """Return the file of the token, which its owner alone can read."""
    return data_dir / "ingest-token"


def kept(path: Path) -> str:
    """Return the token that the file holds; "" if there is none."""
    try:
        return path.read_text().strip()
    except FileNotFoundError:
        return ""


def _is_valid(client: MetaClient, token: str) -> bool:
    try:
        client.ingest_token.ValidateIngestToken(
            pb.ValidateIngestTokenRequest(plaintext_token=token)
        )
    except TokenUnknown:
        return False
    return True
