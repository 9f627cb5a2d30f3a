"""segplane spark-env: the packages that executors of a Spark cluster need."""

import platform
from pathlib import Path
from typing import Annotated

from segplane.cli.command import command, group
from segplane.cli.parameters import Option

app = group()
FOLDER = "segplane-env"
ADVICE = """
Executors run it with {python} for {machine} and a Spark of the driver's version:

  export PYSPARK_PYTHON=python{minor}
  export SEGPLANE_SPARK_CONF="{conf}"
"""


@command(app, "spark-env --output segplane-env.tar.gz")
def spark_env(
    output: Annotated[Path, Option("--output", "-o")] = Path("segplane-env.tar.gz"),
) -> None:
    """Pack this environment's packages for the executors of a Spark cluster.

    Options:
        output: The archive.
    """
    from segplane.cli import spark_archive as archive

    packed = archive.build(output)
    for package in packed:
        print(f"{package.name} {package.version}")
    print(f"{output}: {output.stat().st_size / 2**20:.0f} MiB")
    conf = ",".join(
        (
            f"spark.archives={output.absolute()}#{FOLDER}",
            f"spark.executorEnv.PYTHONPATH={FOLDER}",
        )
    )
    minor = ".".join(platform.python_version_tuple()[:2])
    machine = f"{platform.system()} on {platform.machine()}"
    print(ADVICE.format(python=f"Python {minor}", machine=machine, minor=minor, conf=conf))
