"""Tasks as jobs of a local Spark: their names, cancelling, and what dies below them."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from segments.errors import ReleaseChanged, TaskFailed
from segments.spark import versions
from segments.spark.jobs import SparkJobs
from segments.spark.session import SparkDied
from tests.support.process_tree import children_of, command_of, is_alive
from tests.support.spark import SETTINGS, shared_session, stop_shared_session
from tests.support.waiting import wait_until

pytestmark = pytest.mark.spark
# Runs a task that waits for a file.
_PARENT = """
import sys
from segments.spark.jobs import SparkJobs
from tests.segments.spark.test_jobs import wait_for_file
from tests.support.spark import SETTINGS, shared_session
SparkJobs(shared_session(), SETTINGS).run(wait_for_file, sys.argv[1])
"""


@pytest.fixture
def jobs() -> SparkJobs:
    return SparkJobs(shared_session(), SETTINGS)


def parent_id(_: object) -> int:
    return os.getppid()


def process_id(_: object) -> int:
    return os.getpid()


def has_imported(name: str) -> bool:
    return name in sys.modules


def fail(text: str) -> None:
    raise ValueError(text)


def kill_itself(number: signal.Signals) -> int:
    os.kill(os.getpid(), number)
    return os.getpid()


def wait_for_file(path: str) -> int:
    deadline = time.monotonic() + 60.0
    Path(f"{path}.began").write_text(str(os.getpid()))
    while not Path(path).exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return os.getpid()


def test_a_task_finds_its_modules_imported(jobs: SparkJobs) -> None:
    daemon = jobs.run(parent_id, None)

    assert "segments.spark.daemon" in command_of(daemon)
    assert jobs.run(has_imported, "nursery.execution.execute")
    assert jobs.run(has_imported, "pandas"), "pyarrow needs it for its first array"
    assert jobs.run(has_imported, "merge_worker.job")


def test_a_job_has_the_label_and_the_description_of_its_task(jobs: SparkJobs) -> None:
    context = shared_session().sparkContext
    jobs.run(process_id, None, "merge-7-1", "merge task 7: attempt 1, 2 segments, dataset web")

    (job_id,) = context.statusTracker().getJobIdsForGroup("merge-7-1")
    data = context._jsc.sc().statusStore().job(job_id)
    assert data.description().get() == "merge task 7: attempt 1, 2 segments, dataset web"
    assert jobs.application.application_id == context.applicationId
    assert (jobs.application.master, jobs.application.ui_url) == ("local[2]", "")


def test_an_error_fails_its_task_and_no_later_one(jobs: SparkJobs) -> None:
    daemon = jobs.run(parent_id, None)

    with pytest.raises(TaskFailed, match=r"ValueError: no such day$"):
        jobs.run(fail, "no such day")

    # PySpark ends a Python whose task failed.
    assert jobs.run(parent_id, None) == daemon


# A label is that of one task: none with a cancelled one begins.
@pytest.mark.long
@pytest.mark.parametrize(
    ("label", "cancel"),
    [
        pytest.param("a-1", lambda jobs: jobs.cancel("a-1"), id="its label"),
        pytest.param("a-2", lambda jobs: jobs.cancel_all("a-"), id="its prefix"),
    ],
)
def test_a_cancelled_task_fails_soon_and_no_other_does(
    jobs: SparkJobs, label: str, cancel: Callable[[SparkJobs], None], tmp_path: Path
) -> None:
    never, released = tmp_path / "never", tmp_path / "released"
    with ThreadPoolExecutor(2) as pool:
        cancelled = pool.submit(jobs.run, wait_for_file, str(never), label)
        kept = pool.submit(jobs.run, wait_for_file, str(released), "b-1")
        began = [tmp_path / "never.began", tmp_path / "released.began"]
        wait_until(lambda: all(path.exists() for path in began), "both tasks run")

        cancel(jobs)

        with pytest.raises(TaskFailed, match="cancelled"):
            cancelled.result(60.0)
        released.touch()
        assert kept.result(60.0)
        # Its Python outlives the answer by some seconds, in which it may still write a file.
        pid = int((tmp_path / "never.began").read_text())
        wait_until(lambda: not is_alive(pid), "the cancelled task's Python has ended")


def test_a_task_that_is_cancelled_before_it_begins_does_not_begin(
    jobs: SparkJobs, tmp_path: Path
) -> None:
    jobs.cancel("early")

    # A thread keeps the group of its last job.
    with ThreadPoolExecutor(1) as pool, pytest.raises(TaskFailed, match="cancelled"):
        pool.submit(jobs.run, wait_for_file, str(tmp_path / "never"), "early").result(60.0)

    assert not (tmp_path / "never.began").exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_to_the_group_does_not_end_a_task(jobs: SparkJobs, number: signal.Signals) -> None:
    assert jobs.run(kill_itself, number) > 0


@pytest.mark.long
def test_a_killed_daemon_fails_no_later_task(jobs: SparkJobs) -> None:
    daemon = jobs.run(parent_id, None)

    for pid in [*children_of(daemon), daemon]:
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not is_alive(daemon), "it is dead")

    # One of the Pythons that were killed may have been kept for the next task.
    wait_until(lambda: _runs(jobs), "a task runs", seconds=60)
    assert jobs.run(parent_id, None) != daemon


@pytest.mark.long
def test_jvm_daemon_and_pythons_end_with_their_killed_parent(tmp_path: Path) -> None:
    began = tmp_path / "never.began"
    parent = subprocess.Popen([sys.executable, "-c", _PARENT, str(tmp_path / "never")])
    wait_until(lambda: began.exists() and began.read_text() != "", "the task runs", seconds=120)
    below = descendants_of(parent.pid)
    assert int(began.read_text()) in below
    assert any("segments.spark.daemon" in command_of(pid) for pid in below)

    parent.kill()
    parent.wait()

    wait_until(lambda: not any(map(is_alive, below)), "all that it started has ended", seconds=30)


def descendants_of(pid: int) -> list[int]:
    return [one for child in children_of(pid) for one in (child, *descendants_of(child))]


def _runs(jobs: SparkJobs) -> bool:
    try:
        return jobs.run(process_id, None) > 0
    except TaskFailed:
        return False


def test_findings_are_of_the_jvm_and_of_its_last_answer_also_while_it_hangs(
    jobs: SparkJobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs.check()
    answering = jobs.findings()
    java = shared_session().sparkContext._gateway.proc.pid  # type: ignore[union-attr]
    with ThreadPoolExecutor(1) as pool:
        os.kill(java, signal.SIGSTOP)
        try:
            asked = pool.submit(jobs.check)
            monkeypatch.setattr("segments.spark.jobs.ANSWER_SECS", 0.0)
            wait_until(lambda: not jobs.findings()[1].is_ok, "a question is without an answer")
            hanging = jobs.findings()
        finally:
            os.kill(java, signal.SIGCONT)
        asked.result(60.0)

    assert [(found.name, found.is_ok) for found in answering] == [("java", True), ("spark", True)]
    assert re.fullmatch(rf"Java [\w.+-]+, process {java}", answering[0].text)
    assert answering[1].text == "answered 0 s ago, runs 0 tasks"
    assert hanging[0] == answering[0]
    assert hanging[1].text.startswith("the application has not answered for ")
    assert jobs.findings()[1].is_ok


def test_another_release_asks_for_another_start(
    jobs: SparkJobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = versions.Versions("here", "3.11", "9.9", "9.9", "26.0")
    monkeypatch.setattr(versions, "versions_here", lambda: here)

    with pytest.raises(ReleaseChanged, match="start this process again"):
        jobs.run(process_id, None)


def test_a_deleted_scratch_folder_asks_for_another_start(jobs: SparkJobs) -> None:
    shutil.rmtree(shared_session().sparkContext._temp_dir)

    with pytest.raises(SparkDied, match=r"scratch folder .* was deleted"):
        jobs.run(process_id, None)
    with pytest.raises(SparkDied, match="was deleted"):
        jobs.check()
    stop_shared_session()


@pytest.mark.long
def test_a_jvm_without_memory_asks_for_another_start() -> None:
    # The JVM of a process cannot be replaced, so it is that of another one.
    command = [sys.executable, "-m", "tests.support.spark_without_memory"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)

    assert done.stdout.splitlines()[-1] == "SparkDied, SparkDied", done.stdout + done.stderr


@pytest.mark.long
def test_tasks_fail_while_the_disk_of_the_scratch_folder_is_full(jobs: SparkJobs) -> None:
    scratch = Path(shared_session().sparkContext._temp_dir)
    with small_disk(scratch):
        filler = scratch / "filler"
        with suppress(OSError), filler.open("wb", 0) as file:
            while True:
                file.write(bytes(4096))

        with pytest.raises((TaskFailed, OSError), match="No space left"):
            jobs.run(process_id, None)

        filler.unlink()
        assert jobs.run(process_id, None) > 0


@contextmanager
def small_disk(folder: Path) -> Iterator[None]:
    """Mount a file system of 256 KiB on a folder, which root may do."""
    command = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(folder)]
    if os.geteuid() or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("no file system can be mounted here")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
