"""UpdateResource: patches of notes, labels and contexts, and what lists find of them."""

import json
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from meta.client import MetaClient
from meta.errors import InvalidArgument
from tests.support.examples import examples
from tests.support.meta.resources import ResourceDriver, member
from tests.support.meta.server import MetaServer


@pytest.fixture
def resources(meta_client: MetaClient) -> ResourceDriver:
    return ResourceDriver(meta_client)


@pytest.mark.one_meta
@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"context": "[]"}, "context is not a JSON object"),
        ({"context": "1"}, "context is not a JSON object"),
        ({"context": "{"}, "context "),
        ({"context": '{"a": 1, "a": 2}'}, "key twice"),
        ({"context": '{"a": [{"b": 1, "b": 2}]}'}, "key twice"),
        ({"context": '{"a": NaN}'}, "NaN"),
        ({"context": '{"a": -Infinity}'}, "-Infinity"),
        ({"context": '{"a": ' + "[" * 30_000 + "]" * 30_000 + "}"}, "32 levels"),
        ({"note": "a\x00b"}, "note holds a control character"),
        ({"set_labels": {"": "v"}}, "empty key"),
        ({"set_labels": {"a=b": "v"}}, "equals sign"),
        ({"set_labels": {" a": "v"}}, "blank"),
        ({"set_labels": {"a\n": "v"}}, "control character|blank"),
        ({"set_labels": {"a": "v\n"}}, "control character"),
        ({"set_labels": {"a": "v"}, "remove_labels": ["a"]}, "both set and removed"),
        ({"expected_version": ""}, "expected_version"),
    ],
)
def test_a_malformed_change_is_refused_whole(
    resources: ResourceDriver, fields: dict[str, Any], message: str
) -> None:
    id_ = resources.make("dataset", "web")
    before = resources.get(id_)

    with pytest.raises(InvalidArgument, match=message):
        resources.update(id_, **{"note": "n", **fields})

    assert resources.get(id_) == before


def test_members_of_a_context_are_filtered_as_they_are_written(resources: ResourceDriver) -> None:
    id_ = resources.make("dataset", "web")
    context = {
        "text": "x",
        "empty": "",
        "whole": 3,
        "long": "l" * 256,
        "too_long": "l" * 257,
        "k" * 63: "in",
        "k" * 64: "out",
        "nul": "a\x00b",
        "half": "\ud800",
        "yes": True,
        "no": False,
        "none": None,
        "list": [1],
        "object": {"text": "x"},
    }
    raw = json.dumps(context)[:-1] + ', "big": 12345678901234567890123, "float": 1.50, "e": 1e400}'
    assert resources.update(id_, context=raw).context == raw

    def has(key: str, value: str) -> bool:
        return resources.names(context_member=member(key, value)) == ["web"]

    for key, value in {
        "text": "x",
        "empty": "",
        "whole": "3",
        "long": "l" * 256,
        "k" * 63: "in",
        "yes": "true",
        "no": "false",
        "big": "12345678901234567890123",
        "float": "1.50",
        "e": "1e400",
    }.items():
        assert has(key, value), key
    for key, value in {"float": "1.5", "none": "null", "list": "[1]", "yes": "True"}.items():
        assert not has(key, value), key
    resources.update(id_, context='{"whole": 4}')
    assert (has("whole", "3"), has("whole", "4"), has("text", "x")) == (False, True, False)
    resources.update(id_, context="")
    assert not has("whole", "4")
    assert not resources.get(id_).HasField("context")


KEYS, VALUES = st.sampled_from(["a", "b", "é"]), st.sampled_from(["", "x", "ÿ" * 128])
TEXTS = st.sampled_from(["", "n", "other\n"])
# Contexts, and what lists find of them.
MEMBERS: dict[str, dict[str, str]] = {
    "": {},
    "{}": {},
    '{"a": 1}': {"a": "1"},
    '{"a": "x", "b": true}': {"a": "x", "b": "true"},
    '{"c": [1]}': {},
}
CONTEXTS = st.sampled_from(list(MEMBERS))
PATCHES = st.fixed_dictionaries(
    {"set_labels": st.dictionaries(KEYS, VALUES), "remove_labels": st.lists(KEYS, unique=True)},
    optional={"note": TEXTS, "context": CONTEXTS},
)


@pytest.mark.long
@hypothesis_settings(max_examples=examples(60))
@given(patches=st.lists(PATCHES, max_size=6))
def test_patches_act_like_those_of_a_dictionary(
    module_meta: MetaServer, patches: list[dict[str, Any]]
) -> None:
    resources = ResourceDriver(module_meta.client)
    id_ = resources.make("dataset", uuid4().hex)
    model: dict[str, object] = {"note": "", "context": ""}
    labels: dict[str, str] = {}
    for patch in patches:
        set_labels, removed = dict(patch["set_labels"]), set(patch["remove_labels"])
        patch = {**patch, "remove_labels": sorted(removed - set_labels.keys())}
        before = (dict(model), dict(labels)), resources.get(id_).version
        model |= {name: patch[name] for name in ("note", "context") if name in patch}
        labels = {k: v for k, v in labels.items() if k not in patch["remove_labels"]} | set_labels

        changed = resources.update(id_, **patch)

        assert {"note": changed.note, "context": changed.context} == model
        assert dict(changed.labels) == labels
        assert (changed.version == before[1]) == (before[0] == (model, labels))
        assert changed == resources.get(id_)
        for key in ("a", "b", "é"):
            for value in ("", "x", "ÿ" * 128):
                listed = [item.id for item in resources.all(label=member(key, value))]
                assert (id_ in listed) == (labels.get(key) == value)
        for key, value in (("a", "1"), ("a", "x"), ("b", "true"), ("c", "[1]")):
            listed = [item.id for item in resources.all(context_member=member(key, value))]
            assert (id_ in listed) == (MEMBERS[str(model["context"])].get(key) == value)
