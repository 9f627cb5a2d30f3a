"""Objects of deleted datasets that stay in the bucket; markers there name the datasets."""

from collections.abc import Iterator
from dataclasses import dataclass

from meta.client import MetaClient
from segments.keys import DATASETS_ROOT, AttemptKey, MergedKey, merged_prefix, parse_key
from segments.markers import KEPT_ROOT, read_kept, read_kept_name
from segments.store.interface import ObjectStore
from segplane.read.lookup import all_datasets


@dataclass(frozen=True, slots=True)
class KeptFiles:
    """The objects of one deleted dataset that stay; `is_live` if the catalog has it again."""

    dataset_id: str
    name: str
    objects: int = 0
    size_bytes: int = 0
    is_live: bool = False

    def line(self) -> str:
        """One line for people."""
        if self.is_live:
            return (
                f"kept: dataset {self.dataset_id} is in the catalog again: delete"
                f" {KEPT_ROOT}{self.dataset_id}, or a catalog that is rebuilt from the bucket"
                " leaves it out"
            )
        return (
            f"kept: {self.objects} files, {self.size_bytes} bytes of deleted dataset"
            f" {self.name or '-'} below {merged_prefix(self.dataset_id)}"
        )


def kept_ids(client: MetaClient, store: ObjectStore) -> frozenset[str]:
    """The datasets whose objects stay and that the catalog does not have."""
    marked = read_kept(store)
    return marked - _live_ids(client) if marked else marked


def is_kept(key: str, dataset_ids: frozenset[str]) -> bool:
    """Whether a key is that of a merged segment of one of some datasets."""
    name = parse_key(key) if dataset_ids else None
    return isinstance(name, MergedKey | AttemptKey) and name.dataset_id in dataset_ids


def find_kept(client: MetaClient, store: ObjectStore) -> Iterator[KeptFiles]:
    """Yield the datasets that markers name, with what is there. Raises MetaError, StoreError."""
    marked = read_kept(store)
    live = _live_ids(client) if marked else frozenset[str]()
    for dataset_id in sorted(marked):
        name = read_kept_name(store, dataset_id)
        if dataset_id in live:
            yield KeptFiles(dataset_id, name, is_live=True)
            continue
        objects = size_bytes = 0
        for info in store.list(f"{DATASETS_ROOT}{dataset_id}/"):
            objects, size_bytes = objects + 1, size_bytes + info.size_bytes
        yield KeptFiles(dataset_id, name, objects, size_bytes)


def _live_ids(client: MetaClient) -> frozenset[str]:
    return frozenset(dataset.id for dataset in all_datasets(client, all_tenants=True))
