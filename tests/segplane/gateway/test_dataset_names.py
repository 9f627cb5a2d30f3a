"""Names of datasets and groups: each goes through each door, and none is of another's meaning."""

import json
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import psycopg
import pyarrow as pa
import pytest
from pyiceberg.catalog import load_catalog

from meta.errors import InvalidArgument, NotFound
from meta.v1 import catalog_pb2
from meta.v1 import operations_pb2 as ops
from segments import dataset_names
from segplane.query.quoting import literal
from segplane.read import open_dataset
from segplane.read.spark.source import SegplaneSource
from tests.support.command_line import RunCommand
from tests.support.examples import some_or_all
from tests.support.gateway.segments import SegmentWriter
from tests.support.gateway.server import GatewayServer
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.groups import create_group
from tests.support.meta.server import MetaServer

SCHEMAS = ("information_schema", "pg_catalog", "main", "temp", "system")
RESERVED = ("a/b", "/", ".", "..", *SCHEMAS, "Main", "INFORMATION_SCHEMA", "Pg_Catalog")
# Signs with a meaning in URLs, SQL, KQL, JSON, shells, globs and tables of the catalog.
PARTS = (
    "a.b", "...", "it's", 'say "hi"', "a%2Fb?c#d", "%", "a\\b;c", "$x&b=c", "`[x]` {y}", "a|b,c",
    "*", "--", "-x", "a:b+c", "(x) <y> ~", "@",
)  # fmt: skip
WORDS = ("select", "logs", "memory", "pg_temp", "null", "42", "web@v", "web__v", "records", "temp2")
LETTERS = ("ünï", "日本語 😀", "e\u0301", "x" * 255, "Straße İ")
# The doors that take any name, also a reserved one of an earlier release.
OLD_DOORS = ("http kql", "http sql", "kusto", "read", "command kql", "command sql", "command show")
NAMES = (*PARTS, *WORDS, *LETTERS)


@pytest.mark.one_meta
@pytest.mark.parametrize("name", RESERVED)
def test_no_new_dataset_has_a_reserved_name(meta_server: MetaServer, name: str) -> None:
    client = meta_server.client
    web = CatalogDriver(client).dataset("web")

    # A slash is behind the name of a group, and there is none.
    expected = r"no such group|must not be empty|expected another: it is a"
    with pytest.raises((InvalidArgument, NotFound), match=expected):
        client.catalog.CreateDataset(catalog_pb2.CreateDatasetRequest(name=name))
    with pytest.raises((InvalidArgument, NotFound), match=expected):
        client.operations.RenameDataset(ops.RenameDatasetRequest(dataset_id=web, new_name=name))

    assert dataset_names.reserved(name)


def test_every_other_name_is_taken(meta_server: MetaServer) -> None:
    for name in (*NAMES, "mains", "a.", "temp.x"):
        assert CatalogDriver(meta_server.client).dataset(name)


@pytest.fixture
def doors(
    meta_server: MetaServer,
    gateway: GatewayServer,
    segments: SegmentWriter,
    run: RunCommand,
    tmp_path: Path,
) -> "Doors":
    segments.write(rows=3)
    return Doors(meta_server, gateway, segments, run, tmp_path)


class Doors:
    """Every way to a dataset by its name; the dataset is that of `segments`, renamed."""

    def __init__(
        self,
        meta_server: MetaServer,
        gateway: GatewayServer,
        segments: SegmentWriter,
        run: RunCommand,
        tmp_path: Path,
    ) -> None:
        self._meta, self._gateway, self._run = meta_server, gateway, run
        self._dataset, self._folder = segments.dataset, tmp_path
        self._files = 0
        uri = f"{gateway.server}/iceberg"
        self._iceberg = load_catalog("segplane", type="rest", uri=uri)

    def rename(self, name: str) -> None:
        """Give the dataset a name as meta does."""
        request = ops.RenameDatasetRequest(dataset_id=self._dataset, new_name=name)
        self._meta.client.operations.RenameDataset(request)

    def move(self, group: str, name: str) -> None:
        """Give the dataset a name in a group."""
        create_group(self._meta.client, group)
        self.rename(f"{group}/{name}")

    def keep(self, name: str) -> None:
        """Give the dataset a name as an earlier release did."""
        with psycopg.connect(self._meta.settings.database.url) as connection:
            statement = "UPDATE datasets SET name = %s WHERE id = %s"
            assert connection.execute(statement, (name, self._dataset)).rowcount == 1

    def answers(self, name: str, group: str = "") -> dict[str, object]:
        """Return how many records each door finds, or why it finds none."""
        return {door: self._answer(ask) for door, ask in self._asks(name, group).items()}

    def _answer(self, ask: Callable[[], object]) -> object:
        try:
            return ask()
        except Exception as error:  # noqa: BLE001 - the test shows it
            return repr(error)

    def _asks(self, own: str, group: str) -> dict[str, Callable[[], object]]:
        name = f"{group}/{own}" if group else own
        kql = "[" + json.dumps(name, ensure_ascii=False) + "]"
        own_kql = "[" + json.dumps(own, ensure_ascii=False) + "]"
        database = f"database({json.dumps(group or 'segplane', ensure_ascii=False)}).{own_kql}"
        sql = '"' + name.replace('"', '""') + '"'
        count, count_kql = f"SELECT count(*) AS n FROM {sql}", f"{kql} | summarize n = count()"  # noqa: S608
        path = f"v1/datasets/{quote(own, safe='')}"
        if group:
            path = f"v1/groups/{quote(group, safe='')}/datasets/{quote(own, safe='')}"
        show = ("datasets", "show", "--json", "--", name)
        return {
            "http kql": lambda: self._http(count_kql),
            "http database": lambda: self._http(f"{database} | summarize n = count()"),
            "http sql": lambda: self._http(count),
            "http whole group": lambda: self._http(
                f"union database({json.dumps(group or 'segplane', ensure_ascii=False)}).*"
                f" | where dataset_id == '{self._dataset}' | summarize n = count()"
            ),
            "http sql column": lambda: self._http(f"{count} WHERE dataset = {literal(name)}"),
            "http signal": lambda: self._http(f"{count}.logs"),
            # Over HTTP the group is a separate member.
            "http show": lambda: self._named(self._gateway.get(path).json, own),
            "preview": lambda: len(self._gateway.get(f"{path}/preview").json),
            "kusto": lambda: self._kusto(f"{own_kql} | count", group or "segplane"),
            "kusto database": lambda: self._kusto(f"{database} | count", "segplane"),
            "iceberg": lambda: self._iceberg_rows(own, group or "default"),
            "read": lambda: self._read(name),
            "spark": lambda: self._spark(name),
            "command kql": lambda: self._command("query", count_kql),
            "command sql": lambda: self._command("query", count),
            "sql shell": lambda: self._shell(count),
            "sql shell signal": lambda: self._shell(f"{count}.logs"),
            "command show": lambda: self._named(json.loads(self._run(*show).stdout), name),
        }

    def _http(self, text: str) -> object:
        answer = self._gateway.query(text)
        return answer.json[0]["n"] if answer.status == 200 else answer.message

    def _named(self, shown: dict[str, object], name: str) -> object:
        return 3 if shown["name"] == name else shown

    def _kusto(self, csl: str, database: str) -> object:
        frames = self._gateway.post("v2/rest/query", {"db": database, "csl": csl}).json
        (table,) = [frame for frame in frames if frame.get("TableKind") == "PrimaryResult"]
        return table["Rows"][0][0]

    def _iceberg_rows(self, name: str, namespace: str) -> object:
        return self._iceberg.load_table((namespace, name)).scan().to_arrow().num_rows

    def _read(self, name: str) -> object:
        with open_dataset(name, meta_address=self._meta.address, columns=["dataset"]) as dataset:
            return dataset.to_table()["dataset"].to_pylist().count(name)

    def _spark(self, name: str) -> object:
        """Read as Spark does, without its JVM."""
        source = SegplaneSource({"metaAddress": self._meta.address, "dataset": name})
        reader = source.reader(source.schema())
        batches = (batch for part in reader.partitions() for batch in reader.read(part))
        return sum(batch.num_rows for batch in batches if isinstance(batch, pa.RecordBatch))

    def _shell(self, statement: str) -> object:
        result = self._run("sql", "--json", "-c", statement)
        return json.loads(result.stdout)[0]["n"] if result.exit_code == 0 else result.stderr

    def _command(self, *arguments: str) -> object:
        self._files += 1
        file = self._folder / f"{self._files}.json"
        result = self._run(*arguments, "--format", "json", "--output", str(file))
        return json.loads(file.read_text())[0]["n"] if result.exit_code == 0 else result.stderr


@pytest.mark.parametrize("names", some_or_all(NAMES, 9))
def test_each_name_goes_through_each_door(doors: Doors, names: tuple[str, ...]) -> None:
    wrong = {}
    for name in names:
        doors.rename(name)
        answers = doors.answers(name)
        if answers != dict.fromkeys(answers, 3):
            wrong[name] = answers

    assert wrong == {}


# Each is a group's name, with the name of a dataset in it; together they have 255 characters.
GROUPED = tuple(
    (group[:127], own[:127]) for group, own in zip(NAMES, (*NAMES[7:], *NAMES[:7]), strict=True)
)


@pytest.mark.parametrize("grouped", some_or_all(GROUPED, 11))
def test_each_name_in_each_group_goes_through_each_door(
    doors: Doors, grouped: tuple[tuple[str, str], ...]
) -> None:
    wrong = {}
    for group, own in grouped:
        doors.move(group, own)
        answers = doors.answers(own, group)
        if answers != dict.fromkeys(answers, 3):
            wrong[group, own] = answers

    assert wrong == {}


@pytest.mark.parametrize("names", some_or_all(RESERVED, 5))
def test_reserved_names_of_an_earlier_release_are_kept_marked_and_renamed(
    doors: Doors, run: RunCommand, names: tuple[str, ...]
) -> None:
    for name in names:
        doors.keep(name)

        answers = doors.answers(name)
        listed = run("datasets", "list").stdout

        # Paths cut off at slashes and folders, and tables of signals in schemas, miss such names.
        assert {door: answers[door] for door in OLD_DOORS} == dict.fromkeys(OLD_DOORS, 3), name
        (line,) = [line for line in listed.splitlines() if "rename it: " in line]
        assert f"  {name}  " in line
        items = json.loads(run("datasets", "list", "--json").stdout)
        (item,) = [item for item in items if "hint" in item]
        assert (item["name"], item["hint"][:11]) == (name, "rename it: ")
        assert run("datasets", "rename", "--", name, "web").exit_code == 0
        assert "rename it" not in run("datasets", "list").stdout
        assert "rename it" not in run("datasets", "list", "--json").stdout
    assert doors.answers("web") == dict.fromkeys(answers, 3)
