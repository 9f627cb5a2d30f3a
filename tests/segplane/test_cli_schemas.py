"""Commands name the schema of a dataset, and the entries that stand in the way of a change."""

from tests.support.command_line import RunCommand


def test_settings_name_the_schema_that_the_dataset_is_bound_to(run: RunCommand) -> None:
    run("schemas", "create", "order", "price:long")
    run("datasets", "create", "shop")
    before = run("datasets", "columns", "shop").stdout
    run("datasets", "columns", "shop", "--schema", "order")
    run("schemas", "update", "order", "--add", "tax:long")

    newest = run("datasets", "columns", "shop").stdout
    run("datasets", "columns", "shop", "--schema", "order", "--schema-version", "1")
    fixed = run("datasets", "columns", "shop").stdout

    assert "schema" not in before
    assert "order version 2, the newest\n" in newest
    assert "order version 1\n" in fixed


def test_a_refusal_names_what_is_in_the_way_and_its_field_once(run: RunCommand) -> None:
    run("schemas", "create", "order", "price:long")
    run("datasets", "create", "shop")
    run("datasets", "columns", "shop", "--schema", "order")

    referenced = run("schemas", "delete", "order")
    twice = run("schemas", "create", "double", "a:long", "a:long")

    assert referenced.exit_code == 1
    assert referenced.stderr == (
        "error: views, projections or datasets use the schema: dataset shop (STILL_REFERENCED)\n"
    )
    assert twice.stderr == "error: columns has a duplicate (INVALID_ARGUMENT)\n"
