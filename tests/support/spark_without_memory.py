"""A process whose JVM runs out of memory: prints the errors of its next task and check."""

from py4j.protocol import Py4JError

from segments.spark.jobs import SparkJobs
from segments.spark.session import SparkDied
from tests.support.spark import SETTINGS, shared_session


def main() -> None:
    """Fill the heap, run a task, and ask whether tasks can run."""
    session = shared_session()
    jobs = SparkJobs(session, SETTINGS)
    assert jobs.run(abs, -1) > 0
    gateway = session.sparkContext._gateway
    assert gateway is not None
    kept = gateway.jvm.java.util.ArrayList()
    try:
        while True:
            kept.add(gateway.new_array(gateway.jvm.long, 2**26))
    except (Py4JError, OSError):
        errors = []
        for call in (lambda: jobs.run(abs, -1), jobs.check):
            try:
                call()
            except SparkDied as error:
                errors.append(type(error).__name__)
    print(", ".join(errors), flush=True)


if __name__ == "__main__":
    main()
