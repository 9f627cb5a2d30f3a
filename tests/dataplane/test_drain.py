"""Threads that run jobs end with their job, and none holds up a shutdown."""

import threading

from dataplane.drain import drain

DEADLINE_SECS = 30.0


def started(*events: threading.Event) -> list[threading.Thread]:
    """Threads that each end with an event."""
    threads = [threading.Thread(target=event.wait, daemon=True) for event in events]
    for thread in threads:
        thread.start()
    return threads


def test_a_job_that_ends_within_the_drain_is_not_cancelled() -> None:
    job, cancelled = threading.Event(), threading.Event()
    threads = started(job)
    threading.Timer(0.05, job.set).start()

    assert drain(threads, DEADLINE_SECS, cancelled.set)

    assert not cancelled.is_set()


def test_a_job_is_cancelled_again_until_its_thread_ends() -> None:
    jobs = [threading.Event(), threading.Event()]
    threads, ended = started(*jobs), list[threading.Event]()

    def cancel_the_next() -> None:
        ended.append(jobs[len(ended)])
        ended[-1].set()

    assert drain(threads, 0.0, cancel_the_next)

    assert ended == jobs


def test_a_thread_that_hangs_is_left_behind() -> None:
    job = threading.Event()

    is_clean = drain(started(job), 0.0, lambda: None, cancel_secs=0.1)
    job.set()

    assert not is_clean
