"""The commands of docs/datasets.md, as the page has them."""

import json
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

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
    assert len(lines) == 15
    shown: dict[str, str] = {}
    for line in lines:
        program, *arguments = shlex.split(line)
        assert program == "segplane"
        shown.setdefault(" ".join(arguments[:2]), run(*arguments))

    assert shown["datasets bind"].startswith("shop: order version 1, the newest\n")
    assert "price.cents" in shown["datasets bind"]
    assert shown["schemas history"].split("\n")[1].split()[0] == "2"
    assert shown["schemas freeze"] == "order version 2, frozen\n"
    assert shown["schemas revise"].startswith("order version 3: order_id:string")
    settings = json.loads(run("datasets", "settings", "shop", "--json"))
    names = [column["name"] for column in settings["promoted_columns"]["columns"]]
    assert names[:-2] == ["order_id", "price", "paid_at", "cart", "tax", "discount"]
    assert names[-2:] == ["id", "ingested_at"]
    assert "frozen" in run("schemas", "history", "order")
    assert run("datasets", "unbind", "shop") == "shop: no schema\n"
