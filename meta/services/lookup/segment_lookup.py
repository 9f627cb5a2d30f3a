"""SegmentLookupService: pages of segments at one version, and segments by id."""

from meta.commits.transactions import Transactions
from meta.config import Settings
from meta.services.lookup.assembled_pages import AssembledPages
from meta.services.lookup.checked_lookup import CheckedLookup
from meta.services.lookup.segment_bytes import SegmentEncoder, facts_field
from meta.services.messages import checks
from meta.store.lookup.page_statement import SegmentStatements
from meta.v1 import segment_lookup_pb2 as pb

IDS_MAX = 1_000


class SegmentLookupServicer:
    """SegmentLookupService; see docs/contract.md. Its replies are serialized already."""

    def __init__(self, transactions: Transactions, settings: Settings) -> None:
        self._transactions = transactions
        self._encoder = SegmentEncoder(settings.stores)
        self.statements = SegmentStatements([store.name for store in settings.stores.named_stores])
        self.pages = AssembledPages(
            transactions, self.statements, self._encoder, settings.lifetimes.cursor
        )

    def FindSegments(self, request: pb.FindSegmentsRequest) -> bytes:
        """Page through the segments that overlap a range, all at the first page's version.

        Raises VersionNotReached below `min_version`; the pipeline waits and calls again.
        """
        return self.pages.find(CheckedLookup.of(request))

    def GetSegmentsByIds(self, request: pb.GetSegmentsByIdsRequest) -> bytes:
        """Read segments by id, in the order of the request."""
        checks.at_most(request.segment_ids, "segment_ids", IDS_MAX)
        ids = list(
            dict.fromkeys(
                checks.uuid(text, f"segment_ids[{index}]")
                for index, text in enumerate(request.segment_ids)
            )
        )
        columns = self._transactions.read_again(
            lambda: self.statements.read_by_ids(self._transactions.database, ids)
        )
        endings = [facts_field(facts) if facts else b"" for facts in columns.facts]
        return b"".join(self._encoder.encode(columns, endings))
