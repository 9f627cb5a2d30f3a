"""Failures of DuckDB, and of the files that it reads, as one line that says what to do."""

import re
from collections.abc import Iterable
from difflib import get_close_matches

# Arrow's words for a bucket that does not answer, behind which curl says why.
_NO_ANSWER = re.compile(r"AWS Error (?:NETWORK_CONNECTION|REQUEST_TIMEOUT|SLOW_DOWN).*")
_WHY = re.compile(r"curlCode: \d+, ([^;.]+)")
# DuckDB's and Arrow's words for an object of a folder.
_NO_FILE = re.compile(
    r"(?:Cannot open file|Failed to open local file|No files found that match the pattern)"
    r" [\"']([^\"']+)[\"']"
)
# DuckDB's words for a name that is no column.
_NO_COLUMN = re.compile(r"[Cc]olumn \"([^\"]+)\" not found in FROM clause")
# The text that Arrow adds to a Python error, at the end of its first line.
_TRACEBACK = " Detail: Python exception:"


def failure(error: BaseException, names: Iterable[str] = ()) -> str:
    """Return one line for an error of DuckDB, Arrow or a store; `names` are those of columns."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    line = lines[0].partition(_TRACEBACK)[0] if lines else type(error).__name__
    if _NO_ANSWER.search(line):
        why = _WHY.search(line)
        reason = f" ({why[1].strip()})" if why else ""
        return (
            f"the object store does not answer{reason}: ask again, or check that it runs and that"
            " this machine reaches its endpoint"
        )
    if match := _NO_FILE.search(line):
        return (
            f"the object store has no {match[1]}: check that its folder is mounted on this machine,"
            " then look for damage with `segplane fsck`"
        )
    if column := _NO_COLUMN.search(line):
        closest = get_close_matches(column[1], list(names), 1)
        hint = f"did you mean {closest[0]!r}? " if closest else ""
        return f"the query failed: {line.rstrip('!')}: {hint}texts have single quotes"
    return f"the query failed: {line}"
