"""The commands of docs/datasets.md, as the page has them."""

import json
import re
import shlex
from collections import defaultdict
from pathlib import Path

import pytest
from click.testing import CliRunner

from segplane.__main__ import app
from tests.support.meta.server import MetaServer

PAGE = Path(__file__).parents[2] / "docs" / "datasets.md"


def run(*arguments: str) -> str:
    done = CliRunner().invoke(app, list(arguments))
    assert done.exit_code == 0, done.output
    return done.stdout


def test_every_command_of_the_page_works(
    meta_server: MetaServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEGPLANE_META_ADDRESS", meta_server.address)
    blocks = re.findall(r"```bash\n(.*?)```", PAGE.read_text(), re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines()]
    assert len(lines) == 19
    shown: defaultdict[str, str] = defaultdict(str)
    for line in lines:
        program, *arguments = shlex.split(line)
        assert program == "segplane"
        shown[" ".join(arguments[:2])] += run(*arguments)

    assert "order version 1, the newest\n" in shown["datasets columns"]
    assert "price.cents" in shown["datasets columns"]
    assert shown["schemas show"].split("\n")[1].split()[0] == "2"
    assert "order version 2, frozen: " in shown["schemas update"]
    assert "order version 3: order_id:string" in shown["schemas update"]
    settings = json.loads(run("datasets", "columns", "shop", "--json"))
    names = [column["name"] for column in settings["promoted_columns"]["columns"]]
    assert names[:-3] == ["order_id", "price", "paid_at", "cart", "tax", "rebate"]
    assert names[-3:] == ["id", "ingested_at", "batch_id"]
    assert "order version" not in run("datasets", "columns", "shop", "--schema", "none")
