"""`python -m tests.support.nursery.contender <address>`: a nursery without Spark, until SIGTERM.

Its tasks run in the process itself; everything else is the nursery's own: leases, plans, puts and
registrations. It starts in seconds, so that several can contend for shards.
"""

import sys

import structlog

from meta.client import MetaClient
from meta.errors import MetaError
from meta.process.observability import configure_logging
from meta.process.shutdown import Shutdown
from nursery.loop import Nursery
from tests.support.nursery.drivers import EAGER, run_here

INTERVAL_SECS = 0.1


def main(address: str) -> None:
    """Run cycles; what meta refuses is tried again, as in the nursery's own process."""
    configure_logging("nursery")
    log = structlog.get_logger()
    shutdown = Shutdown().install()
    with MetaClient(address) as client:
        nursery = Nursery(client, EAGER, run_here, 2, shutdown=shutdown)
        log.info("nursery_started")
        while not shutdown.is_requested:
            try:
                nursery.cycle()
            except MetaError as error:
                log.warning("cycle_failed", error=str(error))
            shutdown.wait(INTERVAL_SECS)
        nursery.close()


if __name__ == "__main__":
    main(sys.argv[1])
