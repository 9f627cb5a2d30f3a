"""Parsing of Spark properties, and comparison of releases."""

from dataclasses import astuple, replace

import pytest

from segments.spark.settings import SparkSettings, parse_conf
from segments.spark.versions import difference, versions_here


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ()),
        ("spark.a=x", (("spark.a", "x"),)),
        ("spark.a=x, spark.b-c.d=y=z", (("spark.a", "x"), ("spark.b-c.d", "y=z"))),
        ("spark.jars=a.jar,b.jar,spark.b=1", (("spark.jars", "a.jar,b.jar"), ("spark.b", "1"))),
        ("spark.a = -Dx=1 -Dy=2\n\nspark.b=\n", (("spark.a", "-Dx=1 -Dy=2"), ("spark.b", ""))),
        ("spark.a=1,spark.a=2", (("spark.a", "2"),)),
        ("spark.a=1,", (("spark.a", "1"),)),
        ("spark.a=1,\nspark.b=2,\n", (("spark.a", "1"), ("spark.b", "2"))),
    ],
)
def test_properties_are_distinguishable_by_their_names(
    text: str, expected: tuple[tuple[str, str], ...]
) -> None:
    assert parse_conf(text) == expected


@pytest.mark.parametrize("text", ["spark.a", "a=b", "=", "spark.a b=c", "a=b,spark.c=d"])
def test_what_is_not_a_property_is_refused_by_name(text: str) -> None:
    with pytest.raises(ValueError, match="is not a Spark property"):
        parse_conf(text)


@pytest.mark.parametrize(
    ("master", "is_local", "is_on_this_machine"),
    [
        ("local", True, True),
        ("processes[2]", False, False),
        ("local[*]", True, True),
        ("local-cluster[2,1,1024]", False, True),
        ("spark://127.0.0.1:7077", False, True),
        ("spark://10.0.0.1:7077", False, False),
        ("k8s://https://127.0.0.1:6443", False, False),
        ("yarn", False, False),
    ],
)
def test_a_cluster_is_told_from_this_machine(
    master: str, is_local: bool, is_on_this_machine: bool
) -> None:
    settings = SparkSettings("test", master)

    assert (settings.is_local, settings.is_on_this_machine) == (is_local, is_on_this_machine)


def test_an_executor_that_differs_is_named_with_all_in_which_it_does() -> None:
    ours = versions_here()
    theirs = replace(ours, host="node-7", pyarrow="1.0", segplane="none")

    found = difference(ours, [astuple(ours), astuple(theirs)])

    assert found.startswith("the executor on node-7 has ")
    assert f"segplane none (here {ours.segplane})" in found
    assert f"pyarrow 1.0 (here {ours.pyarrow})" in found
    assert "python" not in found


def test_an_executor_on_another_host_is_not_a_difference() -> None:
    ours = versions_here()

    assert difference(ours, [astuple(replace(ours, host="elsewhere"))]) == ""
