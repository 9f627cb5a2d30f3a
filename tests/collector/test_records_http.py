"""JSON records over HTTP, on a real collector: what is acknowledged is committed, once."""

import ast
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from meta.v1 import ingest_token_pb2, operations_pb2
from tests.support.collector.ground import Ground, GroundToken
from tests.support.collector.http import HttpAnswer, post_to
from tests.support.collector.process import CollectorProcess, StartCollector
from tests.support.meta.dataset_life import rename, set_settings
from tests.support.meta.groups import create_group
from tests.support.waiting import wait_until

pytestmark = pytest.mark.one_meta
NDJSON = "application/x-ndjson"


class Sender:
    """Sends records to a collector with one token."""

    def __init__(self, collector: CollectorProcess, token: GroundToken) -> None:
        self.collector, self.token = collector, token

    def send(
        self, body: bytes, *, dataset: str = "", path: str = "", query: str = "", **headers: str
    ) -> HttpAnswer:
        """Send a body to the token's dataset, by default as JSON."""
        path = path or f"/v1/datasets/{dataset or self.token.dataset_name}/records{query}"
        secret = headers.pop("secret", self.token.token_secret)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        sent = {"Authorization": f"Bearer {secret}", "Content-Type": "application/json", **named}
        return post_to(path, self.collector, body, sent)

    def answer(self, body: bytes, **options: str) -> dict[str, Any]:
        """Send and return the answer, which is a 200."""
        answer = self.send(body, **options)
        assert answer.status == 200, answer.body
        read: dict[str, Any] = json.loads(answer.body)
        return read


@pytest.fixture
def sender(ground: Ground, start_collector: StartCollector) -> Sender:
    """Give a sender with its own token."""
    return Sender(start_collector(), ground.new_token())


def events(ground: Ground) -> list[str]:
    """The `event` of every committed record, sorted."""
    attributes = (each for log in ground.committed_logs() for each in log.attributes)
    return sorted(each.value.string_value for each in attributes if each.key == "event")


def records(*names: str, **fields: Any) -> bytes:
    """A body of one record for each name."""
    return json.dumps({"records": [{"event": name, **fields} for name in names]}).encode()


def test_records_are_committed_once_their_answer_comes(ground: Ground, sender: Sender) -> None:
    as_json = sender.answer(records("a", "b"))
    as_lines = sender.answer(b'{"event": "c"}\n{"event": "d"}\n', Content_Type=NDJSON)
    compressed = sender.answer(gzip.compress(records("e")), Content_Encoding="gzip")

    batch_id = as_json.pop("batch_id")
    assert as_json == {"accepted": 2, "rejected": 0, "repeated": False, "errors": []}
    exports = [e for b in ground.committed_babies() for part in b.parts for e in part.exports]
    assert bytes.fromhex(batch_id) in [export.digest for export in exports]
    assert [as_lines["accepted"], compressed["accepted"]] == [2, 1]
    assert events(ground) == ["a", "b", "c", "d", "e"]


def test_rejected_records_are_answered_with_their_places(ground: Ground, sender: Sender) -> None:
    some = sender.answer(b'{"records": [{"event": "a"}, {"event": "b", "n": 1e400}]}')
    none = sender.send(b'{"records": [7]}')
    broken = sender.send(b'{"records": [')

    assert (some["accepted"], some["rejected"]) == (1, 1)
    (error,) = some["errors"]
    assert (error["index"], error["field"]) == (1, "n")
    assert (none.status, json.loads(none.body)["rejected"]) == (400, 1)
    assert (broken.status, json.loads(broken.body)["code"]) == (400, 3)
    assert events(ground) == ["a"]


def test_two_equal_clicks_are_two_and_a_repeat_is_one(ground: Ground, sender: Sender) -> None:
    clicks = [sender.answer(records("click")) for _ in range(2)]
    timed = [sender.answer(records("timed", timestamp=1764063000)) for _ in range(2)]
    named = [sender.answer(records("named", id="7")) for _ in range(2)]
    keyed = [sender.answer(records("keyed"), Idempotency_Key="k-1") for _ in range(2)]
    other_key = sender.answer(records("keyed"), Idempotency_Key="k-2")

    assert [answer["repeated"] for answer in clicks] == [False, False]
    assert len({answer["batch_id"] for answer in [*clicks, *timed, *named, *keyed]}) == 5
    for answers in (timed, named, keyed):
        assert [answer["repeated"] for answer in answers] == [False, True]
        assert answers[0]["batch_id"] == answers[1]["batch_id"]
    assert not other_key["repeated"]
    assert events(ground) == ["click", "click", "keyed", "keyed", "named", "timed"]


def test_another_dataset_is_not_found_whether_it_exists_or_not(
    ground: Ground, sender: Sender
) -> None:
    other = ground.new_token()
    metrics_only = ground.new_token(other)
    ground.client.ingest_token.UpdateIngestTokenRouting(
        ingest_token_pb2.UpdateIngestTokenRoutingRequest(
            token_id=metrics_only.token_id,
            routing=ingest_token_pb2.IngestTokenRouting(metrics_dataset_id=other.dataset_id),
        )
    )

    answers = [
        sender.send(records("x"), dataset=other.dataset_name),
        sender.send(records("x"), dataset="no-such-dataset"),
        sender.send(records("x"), dataset=other.dataset_name, secret=metrics_only.token_secret),
    ]

    assert [answer.status for answer in answers] == [404] * 3
    assert len({answer.body for answer in answers}) == 1
    assert sender.send(records("x"), secret="wrong").status == 401
    assert events(ground) == []


def run_example(sender: Sender, page: str, language: str, command: list[str]) -> dict[str, Any]:
    """Run the example of a page as it is written, but for the address and the dataset."""
    text = (Path(__file__).parents[2] / "docs" / page).read_text()
    blocks = re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)
    (example,) = [block for block in blocks if "/records" in block]
    example = re.sub(r"/datasets/\w+/", f"/datasets/{sender.token.dataset_name}/", example)
    example = example.replace(":4318/", f":{sender.collector.http_port}/")
    ran = subprocess.run(
        [*command, example],
        env={**os.environ, "INGEST_TOKEN": sender.token.token_secret},
        capture_output=True,
        check=True,
    )
    # Python prints its own form of the answer.
    answer: dict[str, Any] = ast.literal_eval(ran.stdout.decode().replace("false", "False"))
    return answer


# Signs with a meaning in URLs, and names that look like parts of the path.
GROUPED = (("shop", "web"), ("a%2Fb?c#d", "it's"), ("日本語 😀", "records"), ("datasets", "a.b;c"))


@pytest.mark.parametrize(("group", "name"), GROUPED)
def test_records_of_a_dataset_in_a_group_have_their_own_path(
    ground: Ground, sender: Sender, group: str, name: str
) -> None:
    create_group(ground.client, group)
    rename(ground.client, sender.token.dataset_id, f"{group}/{name}")
    parts = [quote(part, safe="") for part in (group, name)]
    path = f"/v1/groups/{parts[0]}/datasets/{parts[1]}/records"

    # The collector learns the new name with the usage of the dataset.
    wait_until(lambda: sender.send(records("a"), path=path).status == 200, "the new name")
    for other in (
        f"/v1/datasets/{parts[1]}/records",
        f"/v1/groups/{parts[1]}/datasets/{parts[0]}/records",
        f"/v1/groups/{parts[0]}/datasets/{parts[1]}%2Fx/records",
        f"/v1/groups/{parts[0]}%2F{parts[1]}/datasets/{parts[1]}/records",
        f"/v1/groups/{parts[0]}/{parts[1]}/records",
    ):
        assert sender.send(records("b"), path=other).status == 404
    assert events(ground) == ["a"]


@pytest.mark.skipif(not shutil.which("curl"), reason="curl is not installed")
def test_the_documentations_examples_work_as_written(ground: Ground, sender: Sender) -> None:
    answers = [
        run_example(sender, "collector.md", "sh", ["bash", "-c"]),
        run_example(sender, "collector.md", "python", [sys.executable, "-c"]),
    ]

    assert [answer["accepted"] for answer in answers] == [1, 1]
    assert events(ground) == ["order"] * 2


def test_bad_requests_are_refused_with_what_is_wrong(sender: Sender) -> None:
    answers = {
        "content type": sender.send(records("x"), Content_Type="text/csv"),
        "Idempotency-Key": sender.send(records("x"), Idempotency_Key="k" * 256),
        "timestamp_unit": sender.send(records("x"), query="?timestamp_unit=minutes"),
        "content encoding": sender.send(records("x"), Content_Encoding="br"),
    }

    assert [answer.status for answer in answers.values()] == [415, 400, 400, 400]
    for part, answer in answers.items():
        assert part in json.loads(answer.body)["message"]
    assert sender.answer(records("x"), Idempotency_Key="k" * 255)["accepted"] == 1


def test_the_dataset_names_the_unit_where_the_request_does_not(
    ground: Ground, sender: Sender
) -> None:
    """A number without either is told by its magnitude from 1990 to 2100, and else rejected."""
    settings = operations_pb2.DatasetSettings(timestamp_unit=operations_pb2.TIMESTAMP_UNIT_SECONDS)
    in_seconds = ground.new_token()
    set_settings(ground.client, in_seconds.dataset_id, settings)
    other = Sender(sender.collector, in_seconds)

    assert other.answer(records("x", timestamp=5))["accepted"] == 1
    assert other.answer(records("x", timestamp=6), query="?timestamp_unit=ms")["accepted"] == 1
    guessed = sender.answer(records("x", timestamp=1764063000123))
    refused = sender.send(records("x", timestamp=5))

    assert guessed["accepted"] == 1
    assert (refused.status, json.loads(refused.body)["errors"][0]["field"]) == (400, "timestamp")
    times = {log.time_unix_nano for log in ground.committed_logs()}
    assert times == {5 * 10**9, 6 * 10**6, 1764063000123 * 10**6}


def test_records_outside_the_datasets_window_are_rejected(ground: Ground, sender: Sender) -> None:
    ground.set_limits(sender.token, event_age_max_secs=3_600)

    old = sender.send(records("old", timestamp=1764063000))
    new = sender.answer(records("new"))

    (error,) = json.loads(old.body)["errors"]
    assert (error["index"], error["field"]) == (None, "timestamp")
    assert "outside the accepted window" in error["message"]
    assert new["accepted"] == 1
    assert events(ground) == ["new"]


def test_a_dataset_that_had_its_records_takes_no_more(ground: Ground, sender: Sender) -> None:
    ground.client.operations.SetDatasetSettings(
        operations_pb2.SetDatasetSettingsRequest(
            dataset_id=sender.token.dataset_id,
            settings=operations_pb2.DatasetSettings(records_per_month=2),
        )
    )

    assert sender.answer(records("a", "b"))["accepted"] == 2
    beyond = sender.send(records("c"))

    assert beyond.status == 429
    assert "2 records" in json.loads(beyond.body)["message"]
    assert events(ground) == ["a", "b"]


@pytest.mark.one_meta(False)
def test_a_repeat_is_known_after_the_collector_was_killed(
    ground: Ground, start_collector: StartCollector
) -> None:
    token = ground.new_token()
    first = Sender(start_collector(), token)
    first.answer(records("a"), Idempotency_Key="k")
    first.collector.kill()

    second = Sender(start_collector(), token)
    for _ in range(2):
        repeat = second.answer(records("a"), Idempotency_Key="k")
    second.answer(records("b"))

    assert repeat["repeated"]
    assert events(ground) == ["a", "b"]
