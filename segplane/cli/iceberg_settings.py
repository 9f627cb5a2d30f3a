"""Settings by which query engines read this server's datasets as Iceberg tables."""

from dataclasses import dataclass

from segments.location import StoreLocation

ENGINES = ("pyiceberg", "polars", "duckdb", "spark", "trino", "clickhouse", "daft")
_KEYS = "<access key>", "<secret key>"


@dataclass(frozen=True, slots=True)
class CatalogAddress:
    """The gateway as its callers reach it, and the store that holds the objects."""

    uri: str
    store: StoreLocation
    # Whether callers must send a token.
    has_token: bool

    @property
    def is_s3(self) -> bool:
        """True if callers need credentials for the store: the gateway gives out none."""
        return self.store.provider == "s3"


def settings_of(engine: str, catalog: CatalogAddress) -> str:
    """The settings to paste into an engine."""
    return _TEXTS[engine](catalog)


def _pyiceberg(catalog: CatalogAddress) -> str:
    lines = ["catalog:", "  segplane:", "    type: rest", f"    uri: {catalog.uri}"]
    if catalog.has_token:
        lines.append("    token: <GATEWAY_AUTH_TOKEN>")
    lines += [f"    {name}: {value}" for name, value in _file_io(catalog).items()]
    return "\n".join(["# ~/.pyiceberg.yaml", *lines])


def _polars(catalog: CatalogAddress) -> str:
    return "\n".join(
        [
            _pyiceberg(catalog),
            "",
            "# Python",
            "from pyiceberg.catalog import load_catalog",
            'table = load_catalog("segplane").load_table("default.<dataset>")',
            'polars.scan_iceberg(table).filter(polars.col("signal") == "logs")',
        ]
    )


def _daft(catalog: CatalogAddress) -> str:
    return _polars(catalog).rpartition("\n")[0] + "\ndaft.read_iceberg(table)"


def _duckdb(catalog: CatalogAddress) -> str:
    # A write is refused at once; else DuckDB puts a file into the store before it asks to commit.
    options = ["READ_ONLY", f"ENDPOINT '{catalog.uri}'"]
    options.append("TOKEN '<GATEWAY_AUTH_TOKEN>'" if catalog.has_token else _NO_TOKEN)
    lines = ["INSTALL iceberg; LOAD iceberg;"]
    if catalog.is_s3:
        lines.append(_duckdb_secret(catalog.store))
        options.append("ACCESS_DELEGATION_MODE 'none'")
    lines.append(f"ATTACH '' AS segplane (TYPE iceberg, {', '.join(options)});")
    lines.append('SELECT count(*) FROM segplane."default"."<dataset>";')
    return "\n".join(lines)


_NO_TOKEN = "AUTHORIZATION_TYPE 'none'"


def _duckdb_secret(store: StoreLocation) -> str:
    parts = [f"KEY_ID '{_KEYS[0]}'", f"SECRET '{_KEYS[1]}'"]
    if store.region:
        parts.append(f"REGION '{store.region}'")
    if store.endpoint:
        scheme, _, host = store.endpoint.partition("://")
        is_tls = str(scheme == "https").lower()
        parts += [f"ENDPOINT '{host}'", f"USE_SSL {is_tls}", "URL_STYLE 'path'"]
    return f"CREATE SECRET (TYPE s3, {', '.join(parts)});"


def _spark(catalog: CatalogAddress) -> str:
    name = "spark.sql.catalog.segplane"
    packages = ["org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0"]
    # Spark finds the catalog's views through Iceberg's extensions only.
    lines = [f"--conf spark.sql.extensions={_EXTENSIONS}"]
    lines += [f"--conf {name}=org.apache.iceberg.spark.SparkCatalog", f"--conf {name}.type=rest"]
    lines.append(f"--conf {name}.uri={catalog.uri}")
    if catalog.has_token:
        lines.append(f"--conf {name}.token=<GATEWAY_AUTH_TOKEN>")
    if catalog.is_s3:
        packages.append("org.apache.iceberg:iceberg-aws-bundle:1.12.0")
        lines.append(f"--conf {name}.io-impl=org.apache.iceberg.aws.s3.S3FileIO")
        lines += [f"--conf {name}.{key}={value}" for key, value in _file_io(catalog).items()]
    head = ["# Spark 3.5: iceberg-spark-runtime-3.5_2.12. Spark 4.3 has no runtime yet."]
    shell = ["spark-sql", f"--packages {','.join(packages)}", *lines]
    return "\n".join([*head, " \\\n  ".join(shell)])


_EXTENSIONS = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"


def _trino(catalog: CatalogAddress) -> str:
    lines = [
        "# etc/catalog/segplane.properties",
        "connector.name=iceberg",
        "iceberg.catalog.type=rest",
        f"iceberg.rest-catalog.uri={catalog.uri}",
    ]
    if catalog.has_token:
        lines.append("iceberg.rest-catalog.security=OAUTH2")
        lines.append("iceberg.rest-catalog.oauth2.token=<GATEWAY_AUTH_TOKEN>")
    if catalog.is_s3:
        lines += ["fs.native-s3.enabled=true", f"s3.aws-access-key={_KEYS[0]}"]
        lines.append(f"s3.aws-secret-key={_KEYS[1]}")
        if catalog.store.region:
            lines.append(f"s3.region={catalog.store.region}")
        if catalog.store.endpoint:
            lines += [f"s3.endpoint={catalog.store.endpoint}", "s3.path-style-access=true"]
    else:
        lines += ["fs.hadoop.enabled=true"]
    return "\n".join(lines)


def _clickhouse(catalog: CatalogAddress) -> str:
    settings = ["catalog_type = 'rest'", "warehouse = 'segplane'", "vended_credentials = false"]
    if catalog.store.endpoint:
        settings.append(f"storage_endpoint = '{catalog.store.endpoint}/{catalog.store.bucket}'")
    if catalog.has_token:
        settings.append("auth_header = 'Authorization: Bearer <GATEWAY_AUTH_TOKEN>'")
    arguments = [f"'{catalog.uri}/v1'", *(f"'{key}'" for key in _KEYS if catalog.is_s3)]
    return "\n".join(
        [
            "SET allow_experimental_database_iceberg = 1;",
            f"CREATE DATABASE segplane ENGINE = DataLakeCatalog({', '.join(arguments)})",
            f"SETTINGS {', '.join(settings)};",
            "SELECT count() FROM segplane.`default.<dataset>`;",
        ]
    )


def _file_io(catalog: CatalogAddress) -> dict[str, str]:
    """The properties of Iceberg's own file readers; the gateway sends endpoint and region."""
    if not catalog.is_s3:
        return {}
    return {"s3.access-key-id": _KEYS[0], "s3.secret-access-key": _KEYS[1]}


_TEXTS = {
    "pyiceberg": _pyiceberg,
    "polars": _polars,
    "duckdb": _duckdb,
    "spark": _spark,
    "trino": _trino,
    "clickhouse": _clickhouse,
    "daft": _daft,
}
