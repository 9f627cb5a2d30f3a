"""A rebuilt catalog keeps no event once: the reports say which datasets did, and what to do."""

import json

from click.testing import CliRunner

from meta.config import Settings
from segplane.__main__ import app
from segplane.fsck.lost_deduplication_keys import once_again
from tests.support.command_line import RunCommand
from tests.support.events_once import bind_once, identify, orders
from tests.support.meta.server import MetaServer
from tests.support.nursery.drivers import CollectorDriver, dataset, nursery


def test_a_rebuild_and_fsck_name_the_datasets_that_had_deduplication(
    run: RunCommand, meta_server: MetaServer, meta_settings: Settings
) -> None:
    client = meta_server.client
    once, plain = (CollectorDriver(client, dataset(client)) for _ in range(2))
    bind_once(client, once.dataset_id)
    for collector in (once, plain):
        collector.commit(collector.put(payloads=(orders("a", "b"),)))
    nursery(client).cycle()
    url = meta_settings.location.url()
    command = ("catalog", "rebuild", "--from-bucket", "--object-store-url", url)

    planned = json.loads(CliRunner().invoke(app, [*command, "--json"]).stdout)
    shown = CliRunner().invoke(app, command).stdout
    before = json.loads(run("fsck", "--deep", "--json").stdout)
    identify(client, once.dataset_id, "")
    lost = json.loads(run("fsck", "--deep", "--json").stdout)
    printed = run("fsck", "--deep")

    text = once_again(once.dataset_id, f"rebuilt-{once.dataset_id}", "order_id")
    (named,) = planned["deduplication_keys"]
    assert (named["dataset_id"], named["column"]) == (once.dataset_id, "order_id")
    assert named["what_to_do"] == text
    assert text in shown.splitlines()
    assert before["lost_deduplication_keys"] == []
    (named,) = lost["lost_deduplication_keys"]
    assert (named["dataset_id"], named["column"]) == (once.dataset_id, "order_id")
    assert printed.exit_code == 0
    assert f"`segplane datasets deduplication --claim-keys {named['name']}`" in printed.stdout
