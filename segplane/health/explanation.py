"""Explanation of a dataset in words: each stage that holds its data, and the command that follows.

ExplainDataset --> a rule of each stage: sentence, command, need of a person
"""

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from meta.client import MetaClient
from meta.v1 import status_pb2 as pb
from segments.ids import is_canonical_uuid
from segplane.health.freshness import LATE_NANOS
from segplane.health.processes import SECOND, span

# An open merge task waits for its turn, which comes within hours.
OLD_TASK_NANOS = 86_400 * SECOND

# Whether a person has to act, by the holding and the age of its beginning in nanoseconds.
Need = Callable[[pb.Holding, int], bool]


def _always(_held: pb.Holding, _age_nanos: int) -> bool:
    return True


def _never(_held: pb.Holding, _age_nanos: int) -> bool:
    return False


def _if_empty(held: pb.Holding, _age_nanos: int) -> bool:
    return held.amount == 0


def _if_late(_held: pb.Holding, age_nanos: int) -> bool:
    return age_nanos >= LATE_NANOS


def _if_old(_held: pb.Holding, age_nanos: int) -> bool:
    return age_nanos > OLD_TASK_NANOS


def _at_limit(held: pb.Holding, _age_nanos: int) -> bool:
    return 0 < held.limit <= held.amount


@dataclass(frozen=True, slots=True)
class StageRule:
    """Rule of a stage.

    The sentence may have {counted}, the amount with its noun, {limits}, the limit if it is known,
    and {amount}, {limit}, {subject}; the command {dataset} and {subject}. Its detail and times
    follow the sentence.
    """

    sentence: str
    command: str
    need: Need = _always
    noun: str = ""


_RULES: Mapping[int, StageRule] = {
    pb.HOLDING_STAGE_NO_TOKEN: StageRule(
        "no ingest token routes to it, so collectors bring no records",
        "segplane tokens create {token} --dataset {dataset}",
        _if_empty,
    ),
    pb.HOLDING_STAGE_NO_STREAM: StageRule(
        "no collector has an active stream for it: none has received a record since it started",
        "segplane test-send --dataset {dataset}",
        _if_empty,
    ),
    pb.HOLDING_STAGE_NO_COLLECTOR: StageRule(
        "no collector reports any more, so no records come", "segplane status"
    ),
    pb.HOLDING_STAGE_QUOTA_REACHED: StageRule(
        "collectors refuse its exports: the records of this month have reached the quota{limits}",
        "segplane datasets limits {dataset}",
    ),
    pb.HOLDING_STAGE_EXPORTS_REFUSED: StageRule(
        "collectors refuse exports: {amount} segments await a merge, the limit is {limit}",
        "segplane tasks list --dataset {dataset}",
    ),
    pb.HOLDING_STAGE_AWAITS_RECONCILE: StageRule(
        "{counted} of a restored database await a reconciliation",
        "segplane catalog reconcile",
        noun="stream",
    ),
    pb.HOLDING_STAGE_NO_NURSERY: StageRule(
        "no nursery reports, so committed records stay unmerged", "segplane status"
    ),
    pb.HOLDING_STAGE_AWAITS_NURSERY: StageRule(
        "committed records of {counted} await a nursery",
        "segplane status",
        _if_late,
        noun="baby segment",
    ),
    pb.HOLDING_STAGE_PARKED: StageRule(
        "a stream cannot pass a baby segment", "segplane streams show {subject}"
    ),
    pb.HOLDING_STAGE_WITHHELD: StageRule(
        "a nursery withholds it: meta refuses its segments, or its layout is not known",
        "segplane datasets limits {dataset}",
    ),
    pb.HOLDING_STAGE_QUARANTINED: StageRule(
        "records of {counted} violate its schema and went to the quarantine, those that were"
        " replayed or dropped since included",
        "segplane quarantine list --dataset {dataset}",
        _never,
        noun="baby segment",
    ),
    pb.HOLDING_STAGE_NO_MERGE_WORKER: StageRule(
        "no merge worker reports, so its segments stay small", "segplane status"
    ),
    pb.HOLDING_STAGE_WORKERS_LIMITED: StageRule(
        "all merge workers are limited to other datasets, {counted}: its segments stay small",
        "segplane workers settings {subject}",
        noun="worker",
    ),
    pb.HOLDING_STAGE_MERGE_DEBT: StageRule(
        "{counted} to be merged",
        "segplane tasks explain --dataset {dataset}",
        _at_limit,
        noun="small segment",
    ),
    pb.HOLDING_STAGE_OPEN_TASKS: StageRule(
        "{counted} to be done",
        "segplane tasks list --dataset {dataset}",
        _if_old,
        noun="merge task",
    ),
    pb.HOLDING_STAGE_EXCLUDED_SEGMENTS: StageRule(
        "{counted} excluded from merging, because a merge could not read it",
        "segplane segments release {subject}",
        noun="segment",
    ),
    pb.HOLDING_STAGE_REWRITE_PAUSED: StageRule(
        "a rewrite is paused with {counted} to do",
        "segplane rewrites update {subject} --state running",
        noun="segment",
    ),
    pb.HOLDING_STAGE_DELETION_HELD: StageRule(
        "deletion is held for the whole installation",
        "segplane fsck --deep && segplane deletion --release",
    ),
    pb.HOLDING_STAGE_DELETION_BRAKE: StageRule(
        "the deletion brake holds {counted}",
        "segplane deletion --release --dataset {dataset}",
        noun="segment",
    ),
    pb.HOLDING_STAGE_LOCKED: StageRule(
        "{subject} has locked it, so nothing is changed or deleted",
        "segplane datasets show {dataset}",
        _never,
    ),
    pb.HOLDING_STAGE_PINNED: StageRule(
        "{counted} of former versions",
        "segplane pins list --dataset {dataset}",
        _never,
        noun="pin",
    ),
    pb.HOLDING_STAGE_BACKED_UP: StageRule(
        "backups keep {counted} past the deletion grace",
        "segplane backup list",
        _never,
        noun="segment",
    ),
    pb.HOLDING_STAGE_RETENTION: StageRule(
        "its oldest segment expires by its retention",
        "segplane datasets retention {dataset}",
        _never,
    ),
}
_UNKNOWN = StageRule("a stage that this release does not know", "segplane --version", _never)


@dataclass(frozen=True, slots=True)
class JudgedHolding:
    """A holding in words, its next command, and whether a person has to act."""

    holding: pb.Holding
    sentence: str
    command: str
    needs_person: bool

    @property
    def stage(self) -> str:
        """The stage in lower case, as programs read it."""
        value = pb.HoldingStage.DESCRIPTOR.values_by_number.get(self.holding.stage)
        name = str(self.holding.stage) if value is None else value.name
        return name.removeprefix("HOLDING_STAGE_").lower()


@dataclass(frozen=True, slots=True)
class Explanation:
    """The stages that hold data of a dataset, those that need a person first."""

    dataset_id: str
    dataset_name: str
    holdings: Sequence[JudgedHolding]
    now_nanos: int

    @property
    def needs(self) -> Sequence[JudgedHolding]:
        """Those that need a person."""
        return [held for held in self.holdings if held.needs_person]

    @property
    def headline(self) -> str:
        """One line: whether anything needs a person, or how late records are."""
        if self.needs:
            things = "1 thing needs" if len(self.needs) == 1 else f"{len(self.needs)} things need"
            return f"{self.dataset_name}: {things} a person"
        return f"{self.dataset_name}: nothing needs a person, {self._lateness()}"

    def _lateness(self) -> str:
        waits = [
            held.holding.since_nanos
            for held in self.holdings
            if held.holding.stage == pb.HOLDING_STAGE_AWAITS_NURSERY
        ]
        if not waits:
            return "all committed records are visible"
        return f"committed records wait for {span(self.now_nanos - waits[0])}"


def explain(client: MetaClient, dataset: str) -> Explanation:
    """Ask for the holdings of a dataset, by name or id, and judge them; raises MetaError."""
    request = pb.ExplainDatasetRequest(name=dataset)
    if is_canonical_uuid(dataset):
        request = pb.ExplainDatasetRequest(id=dataset)
    return judged_reply(client.status.ExplainDataset(request))


def judged_reply(reply: pb.ExplainDatasetResponse) -> Explanation:
    """Judge the holdings of a reply."""
    now = reply.database_time_nanos
    holdings = _judged(reply.holdings, reply.dataset_name, now)
    ordered = sorted(holdings, key=lambda held: not held.needs_person)
    return Explanation(reply.dataset_id, reply.dataset_name, ordered, now)


def _judged(
    holdings: Iterable[pb.Holding], dataset: str, now_nanos: int
) -> Iterable[JudgedHolding]:
    for held in holdings:
        rule = _RULES.get(held.stage, _UNKNOWN)
        subject = held.subjects[0] if held.subjects else ""
        sentence = rule.sentence.format(
            counted=f"{held.amount} {rule.noun}{'s' * (held.amount != 1)}",
            amount=held.amount,
            limit=held.limit,
            limits=f" of {held.limit}" if held.limit else "",
            subject=subject,
        )
        # Readers are not told some subjects.
        is_told = subject or "{subject}" not in rule.command
        detail = held.detail if is_told else "an admin is told more"
        command = (rule.command if is_told else "segplane why {dataset}").format(
            dataset=shlex.quote(dataset),
            subject=shlex.quote(subject),
            token=shlex.quote(f"{dataset}-token"),
        )
        yield JudgedHolding(
            held,
            ", ".join((sentence, *_times(held, now_nanos))) + (detail and f": {detail}"),
            command,
            rule.need(held, now_nanos - held.since_nanos if held.since_nanos else 0),
        )


def _times(held: pb.Holding, now_nanos: int) -> Iterator[str]:
    """Yield how long a holding lasts, and when it ends."""
    if held.since_nanos:
        yield f"for {span(now_nanos - held.since_nanos)}"
    remaining_nanos = held.until_nanos - now_nanos
    if held.until_nanos and remaining_nanos <= 0:
        yield f"due for {span(-remaining_nanos)}"
    elif held.until_nanos:
        yield f"{'ends ' * bool(held.since_nanos)}in {span(remaining_nanos)}"
