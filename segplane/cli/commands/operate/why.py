"""segplane why: the stages that hold a dataset's data, and the next step of each."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

from segplane.cli.command import command, group
from segplane.cli.messages import MetaClient
from segplane.cli.output import Answer, message_dict
from segplane.cli.parameters import Positional

if TYPE_CHECKING:
    from segplane.health.explanation import Explanation, JudgedHolding

app = group()


@command(app, "why web")
def why(
    client: MetaClient,
    dataset: Annotated[str, Positional(metavar="DATASET", help="Dataset name or id.")],
) -> Answer:
    """Show which stage holds a dataset's data, since when, and the next step.

    Stages are those on the way of records to readers, of segments through merges, and before
    deletion. Each has the command that follows. The exit code is 1 if a person has to act.
    """
    from segplane.health.explanation import explain

    explanation = explain(client, dataset)
    return Answer(_data(explanation), _lines(explanation), exit_code=int(bool(explanation.needs)))


def _data(explanation: "Explanation") -> dict[str, object]:
    holdings = [
        {
            **message_dict(held.holding),
            "stage": held.stage,
            "needs_person": held.needs_person,
            "sentence": held.sentence,
            "next": held.command,
        }
        for held in explanation.holdings
    ]
    return {
        "ok": not explanation.needs,
        "needs": [held.sentence for held in explanation.needs],
        "dataset_id": explanation.dataset_id,
        "dataset_name": explanation.dataset_name,
        "holdings": holdings,
        "database_time_nanos": str(explanation.now_nanos),
    }


def _lines(explanation: "Explanation") -> Iterator[str]:
    yield explanation.headline
    for held in explanation.needs:
        yield from _entry(held)
    others = [held for held in explanation.holdings if not held.needs_person]
    if others:
        yield "for information:" if explanation.needs else ""
    for held in others:
        yield from _entry(held)


def _entry(held: "JudgedHolding") -> Iterator[str]:
    yield f"  - {held.sentence}"
    yield f"      next: {held.command}"
