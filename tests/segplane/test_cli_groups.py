"""`segplane groups`, and datasets that are created in them and moved."""

import json

from tests.support.command_line import RunCommand


def test_a_group_is_created_listed_shown_renamed_and_deleted(run: RunCommand) -> None:
    created = run("groups", "create", "shop")
    assert run("groups", "create", "shop").stdout == created.stdout
    assert run("datasets", "create", "shop/web").exit_code == 0
    assert run("datasets", "create", "web").exit_code == 0
    run("resources", "update", "groups", "shop", "--label", "team=payments")

    listed = json.loads(run("groups", "list", "--json").stdout)
    shown = run("groups", "show", "shop").stdout
    refused = run("groups", "delete", "shop")
    assert run("groups", "rename", "shop", "store").stdout == "store\n"
    assert run("datasets", "rename", "store/web", "store/api").stdout == "store/api\n"
    names = [item["name"] for item in json.loads(run("datasets", "list", "--json").stdout)]
    assert run("datasets", "rename", "store/api", "api").stdout == "api\n"

    assert [(item["name"], item["id"]) for item in listed] == [("shop", created.stdout.strip())]
    assert "team=payments" in shown
    assert refused.exit_code == 1
    assert "dataset web" in refused.stderr
    assert names == ["default", "store/api", "web"]
    assert "rename it" not in run("datasets", "list").stdout
    assert run("groups", "delete", "store").exit_code == 0
    assert json.loads(run("groups", "list", "--json").stdout) == []
    assert run("datasets", "create", "store/web").exit_code == 1


def test_a_dataset_has_a_title(run: RunCommand) -> None:
    run("groups", "create", "shop")
    run("datasets", "create", "shop/web")

    update = ("resources", "update", "datasets", "shop/web", "--title")

    assert run(*update, "Web shop").stdout == "title  Web shop\n"
    assert "Web shop" in run("datasets", "show", "shop/web").stdout
    assert run(*update, "").stdout == ""
