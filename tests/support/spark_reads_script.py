"""Reads dataset `web` by `format("segplane")` as a person would: MASTER ADDRESS FOLDER WRONG_CA.

The token and the CA are in READER_TOKEN and READER_CA. Rows of a batch read and of a stream go to
folders of FOLDER, the rest to `result.json`: the stream's batches, and the sentences of readings
that are refused.
"""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from meta.client import MetaClient
from meta.client.channel import ClientTls
from meta.v1 import operations_pb2 as pb
from segments.spark.session import open_session
from segments.spark.settings import SparkSettings
from segplane.read import open_dataset
from segplane.read.files.filesystems import filesystem, path_of

COLUMNS = ("signal", "timestamp", "timestamp_nanos")
STREAM_SECS = 200
# What executors read the store with.
PASSED_ON = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_EC2_METADATA_DISABLED")


def main() -> None:
    master, address, folder, wrong_ca = *sys.argv[1:3], Path(sys.argv[3]), sys.argv[4]
    options = {
        "metaAddress": address,
        "token": os.environ["READER_TOKEN"],
        "ca": os.environ["READER_CA"],
    }
    conf = {f"spark.executorEnv.{name}": os.environ[name] for name in PASSED_ON}
    conf |= {"spark.sql.shuffle.partitions": "1", "spark.executor.memory": "512m"}
    settings = SparkSettings("readings", master, cores_max=2, conf=tuple(conf.items()))
    session = open_session(settings)
    frame = load(session, options)
    frame.select(*COLUMNS).write.parquet(str(folder / "batch"))
    result: dict[str, object] = {
        "batches": run_stream(session, options, folder),
        "wrong_token": sentence(lambda: load(session, options | {"token": "wrong"})),
        "wrong_ca": sentence(lambda: load(session, options | {"ca": wrong_ca})),
        "stream_wrong_token": sentence(
            lambda: run_stream(session, options | {"token": "wrong"}, folder)
        ),
    }
    lose(options)
    # Its plan was made before, so an executor meets what is gone, and asks meta why.
    result["lost"] = sentence(frame.count)
    session.stop()
    (folder / "result.json").write_text(json.dumps(result))


def load(session: SparkSession, options: dict[str, str]) -> DataFrame:
    """A frame of the dataset."""
    return session.read.format("segplane").options(**options).load("web")


def run_stream(session: SparkSession, options: dict[str, str], folder: Path) -> list[int]:
    """Read what there is, a file a batch; returns the rows of each."""
    source = session.readStream.format("segplane").options(**options)
    writer = source.option("maxFilesPerTrigger", 1).load("web").select(*COLUMNS).writeStream
    writer = writer.option("checkpointLocation", str(folder / "checkpoint"))
    query = writer.trigger(availableNow=True).start(str(folder / "stream"))
    try:
        assert query.awaitTermination(STREAM_SECS)
        return [progress.numInputRows for progress in query.recentProgress]
    finally:
        query.stop()


def sentence(call: Callable[[], object]) -> str:
    """The message of a call that fails."""
    try:
        call()
    except PySparkException as error:
        return str(error)
    return ""


def lose(options: dict[str, str]) -> None:
    """Release all pins and delete all objects."""
    address, token, ca = options["metaAddress"], options["token"], options["ca"]
    with open_dataset("web", meta_address=address, token=token, ca=ca) as web:
        for file in web.files():
            filesystem(file.store).delete_file(path_of(file))
    with MetaClient(address, auth_token=token, tls=ClientTls(ca)) as client:
        for pin in client.operations.ListPins(pb.ListPinsRequest()).pins:
            client.operations.ReleasePin(pb.ReleasePinRequest(pin_id=pin.id))


if __name__ == "__main__":
    main()
