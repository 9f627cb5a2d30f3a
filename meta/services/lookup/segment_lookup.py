"""SegmentLookupService: pages of segments at one version, and segments by id."""

import grpc

from meta.commits.transactions import Transactions
from meta.config import Settings
from meta.services.lookup.assembled_pages import AssembledPages
from meta.services.lookup.checked_lookup import CheckedLookup
from meta.services.messages import checks, convert
from meta.store.lookup.page_statement import SegmentStatements
from meta.store.lookup.segment_frames import SEGMENT_TAG
from meta.v1 import segment_lookup_pb2, segment_lookup_pb2_grpc
from segments.location import StoreLocation
from segments.protowire import length_prefix
from segments.store_names import store_folder

IDS_MAX = 1_000
# The field of CloudObjectPrefix that holds the location.
_BUCKET = 1


class SegmentLookupServicer(segment_lookup_pb2_grpc.SegmentLookupServiceServicer):
    """SegmentLookupService; see docs/contract.md. Its replies are serialized already."""

    def __init__(self, transactions: Transactions, settings: Settings) -> None:
        self._transactions = transactions
        stores = settings.stores
        self.statements = SegmentStatements(
            {store_folder(name).rstrip("/"): _bucket(stores.get(name)) for name in stores.names()}
        )
        self.pages = AssembledPages(transactions, self.statements, settings.lifetimes.cursor)

    def FindSegments(  # type: ignore[override]  # serialized: see meta.rpc.execution
        self, request: segment_lookup_pb2.FindSegmentsRequest, context: grpc.ServicerContext
    ) -> bytes:
        """Page through the segments that overlap a range, all at the first page's version.

        Raises VersionNotReached below `min_version`; the pipeline waits and calls again.
        """
        return self.pages.find(CheckedLookup.of(request))

    def GetSegmentsByIds(  # type: ignore[override]
        self, request: segment_lookup_pb2.GetSegmentsByIdsRequest, context: grpc.ServicerContext
    ) -> bytes:
        """Read segments by id, in the order of the request."""
        checks.at_most(request.segment_ids, "segment_ids", IDS_MAX)
        ids = list(
            dict.fromkeys(
                checks.uuid(text, f"segment_ids[{index}]")
                for index, text in enumerate(request.segment_ids)
            )
        )
        frames = self._transactions.read_again(
            lambda: self.statements.read_by_ids(self._transactions.database, ids)
        )
        return SEGMENT_TAG + frames if frames else b""


def _bucket(location: StoreLocation) -> bytes:
    bucket = convert.bucket(location).SerializeToString()
    return length_prefix(_BUCKET, len(bucket)) + bucket
