"""Copies a stream of dataset `web` into a folder for each batch: ADDRESS FOLDER HANG_AT.

Within batch HANG_AT, its rows written, it makes the file `reached` and waits; -1 = never.
"""

import sys
import threading
from pathlib import Path

from pyspark.sql import DataFrame

from segments.spark.session import open_session
from segments.spark.settings import SparkSettings

HANG_SECS = 600.0


def main() -> None:
    address, folder, hang_at = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])

    def put(batch: DataFrame, number: int) -> None:
        path = str(folder / "rows" / f"batch={number}")
        batch.select("signal", "timestamp", "timestamp_nanos").write.mode("overwrite").parquet(path)
        if number == hang_at:
            (folder / "reached").touch()
            threading.Event().wait(HANG_SECS)

    session = open_session(SparkSettings("a stream that is killed", "local[1]"))
    source = session.readStream.format("segplane").option("maxFilesPerTrigger", 2)
    writer = source.option("metaAddress", address).load("web").writeStream.foreachBatch(put)
    writer = writer.option("checkpointLocation", str(folder / "checkpoint"))
    writer.trigger(availableNow=True).start().awaitTermination()
    session.stop()


if __name__ == "__main__":
    main()
