"""Rules of the state machine about datasets and tokens."""

from collections.abc import Callable, Sequence
from typing import TypeVar
from uuid import uuid4

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from meta.errors import (
    MetaError,
    NameTaken,
    NotDrained,
    NotFound,
    StillReferenced,
    TokenRevoked,
)
from meta.v1 import catalog_pb2, ingest_token_pb2, operations_pb2
from tests.property.guards import when
from tests.property.instances import Call, Instances
from tests.property.model import Model, ModelDataset, ModelToken
from tests.property.model_streams import Refusal

Item = TypeVar("Item")
Reply = TypeVar("Reply")
PICK = st.integers(0, 1_000)
TWICE = st.booleans()


def chosen(items: Sequence[Item], pick: int) -> Item:
    """One of the items that are there by now."""
    return items[pick % len(items)]


class CatalogRules(RuleBasedStateMachine):
    """Datasets and tokens come, change and go."""

    def __init__(self, meta: Instances) -> None:
        super().__init__()
        self.meta = meta
        self.model = Model()
        meta.forget_everything()

    def send(
        self,
        call: Call[Reply],
        refusal: Refusal,
        *,
        twice: bool,
        essence: Callable[[Reply], object] = lambda _: None,
    ) -> Reply | None:
        """Make a call that must end as told; again it must end the same, at the other instance."""
        answers = [self.meta.answer(call) for _ in range(1 + twice)]
        for answer in answers:
            if refusal is not None:
                assert isinstance(answer, refusal), f"{answer!r} is not {refusal.__name__}"
            else:
                assert not isinstance(answer, MetaError), repr(answer)
        done = [answer for answer in answers if not isinstance(answer, MetaError)]
        assert len({repr(essence(one)) for one in done}) <= 1, done
        return done[0] if done else None

    @rule(name=st.sampled_from(("web", "db", "app")), twice=TWICE)
    def create_dataset(self, name: str, twice: bool) -> None:
        request = catalog_pb2.CreateDatasetRequest(name=name)
        known = self.model.named(name)

        made = self.send(
            lambda c: c.catalog.CreateDataset(request), None, twice=twice, essence=lambda r: r.id
        )

        assert made is not None
        assert known is None or known.id == made.id
        self.model.datasets.setdefault(made.id, ModelDataset(made.id, name))

    @rule(pick=PICK)
    @when(lambda self: self.model.datasets)
    def delete_dataset(self, pick: int) -> None:
        dataset = chosen(list(self.model.datasets.values()), pick)
        request = catalog_pb2.DeleteDatasetRequest(id=dataset.id)
        is_blocked = dataset.is_live and self.model.is_referenced(dataset.id)

        reply = self.send(
            lambda c: c.catalog.DeleteDataset(request),
            StillReferenced if is_blocked else None,
            twice=False,
        )

        if reply is not None:
            assert reply.success == dataset.is_live
            assert not self.meta.call(lambda c: c.catalog.DeleteDataset(request)).success
            dataset.is_live = False
            self.model.close_tasks_of(dataset.id)

    @rule(pick=PICK)
    @when(lambda self: any(not d.is_live for d in self.model.datasets.values()))
    def undelete_dataset(self, pick: int) -> None:
        gone = [d for d in self.model.datasets.values() if not d.is_live]
        dataset = chosen(gone, pick)
        request = operations_pb2.UndeleteDatasetRequest(dataset_id=dataset.id)
        is_taken = self.model.named(dataset.name) is not None

        reply = self.send(
            lambda c: c.operations.UndeleteDataset(request),
            NameTaken if is_taken else None,
            twice=False,
        )

        if reply is not None:
            assert reply.success
            assert not self.meta.call(lambda c: c.operations.UndeleteDataset(request)).success
            dataset.is_live = True

    @rule(pick=PICK)
    @when(lambda self: self.model.live_datasets())
    def create_token(self, pick: int) -> None:
        dataset = chosen(self.model.live_datasets(), pick)
        request = ingest_token_pb2.CreateIngestTokenRequest(
            name=uuid4().hex, dataset_name=dataset.name
        )

        reply = self.meta.call(lambda c: c.ingest_token.CreateIngestToken(request))

        one = dataset.id
        token = ModelToken(reply.token.id, reply.plaintext_token, logs=one, traces=one, metrics=one)
        self.model.tokens[token.id] = token

    @rule(pick=PICK, logs=PICK, traces=PICK, twice=TWICE)
    @when(lambda self: self.model.tokens)
    def route(self, pick: int, logs: int, traces: int, twice: bool) -> None:
        """Send each signal to some dataset, a deleted one too, or nowhere."""
        token = chosen(list(self.model.tokens.values()), pick)
        places = ["", *self.model.datasets]
        routing = ingest_token_pb2.IngestTokenRouting(
            logs_dataset_id=chosen(places, logs), traces_dataset_id=chosen(places, traces)
        )
        wanted = frozenset({routing.logs_dataset_id, routing.traces_dataset_id} - {""})
        request = ingest_token_pb2.UpdateIngestTokenRoutingRequest(
            token_id=token.id, routing=routing
        )
        is_known = all(self.model.datasets[d].is_live for d in wanted) and not token.is_deleted
        refusal: Refusal = TokenRevoked if token.is_revoked else None

        self.send(
            lambda c: c.ingest_token.UpdateIngestTokenRouting(request),
            refusal if is_known else NotFound,
            twice=twice,
        )

        if is_known and refusal is None:
            token.logs, token.traces = routing.logs_dataset_id, routing.traces_dataset_id
            token.metrics = ""
            for stream in self.model.streams.values():
                if token.id in stream.tokens and stream.stopped is None:
                    stream.add_entries(wanted, stream.committed)

    @rule(pick=PICK, twice=TWICE)
    @when(lambda self: self.model.tokens)
    def revoke_token(self, pick: int, twice: bool) -> None:
        token = chosen(list(self.model.tokens.values()), pick)
        request = ingest_token_pb2.RevokeIngestTokenRequest(token_id=token.id)

        self.send(
            lambda c: c.ingest_token.RevokeIngestToken(request),
            NotFound if token.is_deleted else None,
            twice=twice,
        )

        if token.revoked_at is None:
            streams = self.model.streams.values()
            token.revoked_at = {s.id: s.committed for s in streams if token.id in s.tokens}

    @rule(pick=PICK, twice=TWICE)
    @when(lambda self: self.model.tokens)
    def delete_token(self, pick: int, twice: bool) -> None:
        token = chosen(list(self.model.tokens.values()), pick)
        request = ingest_token_pb2.DeleteIngestTokenRequest(token_id=token.id)
        may_go = token.is_deleted or (token.is_revoked and not self.model.is_undrained(token))

        self.send(
            lambda c: c.ingest_token.DeleteIngestToken(request),
            None if may_go else NotDrained,
            twice=twice,
        )

        token.is_deleted = token.is_deleted or may_go
