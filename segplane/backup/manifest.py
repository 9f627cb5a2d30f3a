"""BackupManifest of a backup: the last file that is written to its folder."""

import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from segplane.terminal.whole_files import whole_file

FORMAT = 1
MANIFEST_NAME = "backup.json"
DUMP_NAME = "database.dump"


class ManifestUnusable(Exception):
    """A folder has no manifest of a whole backup that this release reads."""


@dataclass(frozen=True, slots=True)
class BackupManifest:
    """Facts of a copy; times in nanoseconds, by the clock of the database."""

    format: int
    backup_id: str
    # Version of the database in the copy.
    version: int
    created_at_nanos: int
    kept_until_nanos: int
    # Of Segplane, its schema, and Postgres.
    release: str
    schema_revision: str
    server_version: str
    dump: str
    size_bytes: int
    sha256: str


def write_manifest(folder: Path, manifest: BackupManifest) -> None:
    """Write the manifest, whole or not at all."""
    with whole_file(folder / MANIFEST_NAME, 0o600) as output:
        output.write(json.dumps(asdict(manifest), indent=1).encode() + b"\n")


def read_manifest(folder: Path) -> BackupManifest:
    """Read the manifest of a backup. Raises ManifestUnusable."""
    path = folder / MANIFEST_NAME
    try:
        values = json.loads(path.read_bytes())
        number = values["format"]
        if number != FORMAT:
            raise ManifestUnusable(f"{path} has format {number}, this release reads {FORMAT}")
        manifest = BackupManifest(
            **{each.name: values[each.name] for each in fields(BackupManifest)}
        )
    except FileNotFoundError:
        raise ManifestUnusable(
            f"there is no {path}: the folder holds no backup, or one that was not completed"
        ) from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ManifestUnusable(f"{path} is not a manifest: {error!r}") from None
    if Path(manifest.dump).name != manifest.dump:
        raise ManifestUnusable(f"{path} names a dump outside its folder: {manifest.dump}")
    return manifest
