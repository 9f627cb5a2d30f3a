"""Readers of a dataset with typed columns: the rows by their bodies, with some columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import duckdb
from pyiceberg.catalog import load_catalog

from segplane.read import open_dataset

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.support.gateway.server import GatewayServer

Row: TypeAlias = tuple[Any, ...]


class TypedReaders:
    """The ways to read the dataset `name`; `read` are the columns of the rows."""

    name: str
    address: str
    gateway: GatewayServer
    spark: SparkSession | None

    @property
    def read(self) -> list[str]:
        raise NotImplementedError

    def files(self) -> list[str]:
        raise NotImplementedError

    def arrow(self, columns: Sequence[str], **options: Any) -> list[Row]:
        names = ["body", *columns]
        with open_dataset(self.name, meta_address=self.address, columns=names, **options) as opened:
            return _sorted(tuple(row[n] for n in names) for row in opened.to_table().to_pylist())

    def query(self, language: str, text: str) -> list[Row]:
        answer = self.gateway.query(text, language=language)
        assert isinstance(answer.json, list), answer.json
        return _sorted(tuple(row[name] for name in self.read) for row in answer.json)

    def iceberg(self) -> list[Row]:
        catalog = load_catalog("segplane", type="rest", uri=self.gateway.uri)
        rows = catalog.load_table(f"default.{self.name}").scan().to_arrow().to_pylist()
        return _sorted(tuple(row[name] for name in self.read) for row in rows)

    def bare(self) -> list[Row]:
        query = f"SELECT {', '.join(self.read)} FROM read_parquet(?, union_by_name=true)"  # noqa: S608
        return _sorted(duckdb.connect().execute(query, [self.files()]).fetchall())

    def by_spark(self) -> list[Row]:
        assert self.spark is not None
        source = self.spark.read.format("segplane").option("metaAddress", self.address)
        rows = source.load(self.name).select(*self.read).toArrow().to_pylist()
        return _sorted(tuple(row[name] for name in self.read) for row in rows)


def _sorted(rows: Any) -> list[Row]:
    return sorted(rows, key=lambda row: row[0])
