"""Division of a table's files into manifests, such that few change from one version to the next.

Files of one spec and of 32 days are ordered by day, version and id. A manifest ends behind a file
whose id says so, so that an added or removed file changes only the manifests around it, and every
gateway divides equal files equally, independent of its history.
"""

from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence

from segplane.gateway.iceberg.metadata.data_files import DataFile
from segplane.gateway.iceberg.metadata.manifests import (
    DAY_SPEC,
    UNPARTITIONED_SPEC,
    Manifest,
    manifest_of,
)
from segplane.gateway.iceberg.metadata.schema import TableSchema

# One file in so many ends a manifest.
FILES_MEAN = 512
FILES_MAX = 4_096
_DAYS = 32
_Group = tuple[int, int]


class ManifestGroups:
    """The files of a table and their manifests; unchanged ones are not computed again."""

    def __init__(self) -> None:
        self._files: dict[_Group, list[DataFile]] = {}
        self._manifests: dict[_Group, list[Manifest]] = {}
        self._changed: set[_Group] = set()
        self._schema: TableSchema | None = None

    def add_all(self, files: Sequence[DataFile]) -> None:
        """Add files that are not there yet."""
        for file in files:
            self._files.setdefault(_group(file), []).append(file)
        for group in {_group(file) for file in files}:
            self._files[group].sort()
            self._changed.add(group)

    def add(self, file: DataFile) -> None:
        """Add a file that is not there yet."""
        group = _group(file)
        insort(self._files.setdefault(group, []), file)
        self._changed.add(group)

    def remove(self, file: DataFile) -> None:
        """Remove a file that is there."""
        group = _group(file)
        files = self._files[group]
        index = bisect_left(files, file)
        assert files[index] == file, file.id
        del files[index]
        self._changed.add(group)

    def manifests(self, schema: TableSchema) -> list[Manifest]:
        """The manifests of all files, in the order of specs and days."""
        if schema != self._schema:
            self._schema = schema
            self._manifests.clear()
            self._changed = set(self._files)
        for group in self._changed:
            self._divide(group, schema)
        self._changed.clear()
        return [
            manifest for group in sorted(self._manifests) for manifest in self._manifests[group]
        ]

    def _divide(self, group: _Group, schema: TableSchema) -> None:
        files = self._files[group]
        if not files:
            del self._files[group]
            self._manifests.pop(group, None)
            return
        former = {manifest.files[0]: manifest for manifest in self._manifests.get(group, ())}
        spec_id = group[0]
        divided = []
        for stretch in stretches(files):
            manifest = former.get(stretch[0])
            if manifest is None or manifest.files != tuple(stretch):
                manifest = manifest_of(spec_id, stretch, schema)
            divided.append(manifest)
        self._manifests[group] = divided


def stretches(files: Sequence[DataFile]) -> Iterator[Sequence[DataFile]]:
    """Cut ordered files behind those whose ids end a manifest, and at the largest size."""
    start = 0
    for index, file in enumerate(files, start=1):
        # The last digits of the id decide; to parse all of it would take most of a refresh.
        is_end = int(file.id[-3:], 16) % FILES_MEAN == 0
        if is_end or index - start == FILES_MAX:
            yield files[start:index]
            start = index
    if start < len(files):
        yield files[start:]


def _group(file: DataFile) -> _Group:
    spec_id = DAY_SPEC if file.is_of_one_day else UNPARTITIONED_SPEC
    return spec_id, file.day // _DAYS
