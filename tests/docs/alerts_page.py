"""The sections of docs/alerts.md, from the table of alerts: `make gen`.

The page's prose is written by hand. The alerts of each group stand between the marks of its name,
and those that `make test-alerts` does not fire in a table.
"""

import re
import sys
from pathlib import Path

from segplane.deploy import durations
from segplane.deploy.alerts import GROUPS
from segplane.deploy.alerts.alert import Alert
from tests.deploy.not_made import NOT_MADE


def page(text: str) -> str:
    """Return the page with a section for each alert."""
    for name, alerts in GROUPS.items():
        sections = "\n".join(map(_section, alerts))
        mark = re.compile(f"(?<=<!-- {name} -->).*(?=<!-- /{name} -->)", re.DOTALL)
        text = mark.sub(f"\n\n{sections}\n".replace("\\", r"\\"), text)
    rows = "\n".join(f"| [{name}](#{name.lower()}) | {why} |" for name, why in NOT_MADE.items())
    table = f"\n\n| Alert | Its cause |\n|---|---|\n{rows}\n"
    return re.sub("(?s)(?<=<!-- not made -->).*(?=<!-- /not made -->)", table, text)


def _section(alert: Alert) -> str:
    secs = durations.SECONDS[alert.hold]
    held = f" for {durations.duration(secs)}" if secs else ""
    causes = ", ".join(f"[{cause}](#{cause.lower()})" for cause in alert.caused_by)
    silent = f"\n\nSilent while a cause fires: {causes}." if causes else ""
    summary = re.sub(r"\{\{ \$labels\.(\w+) \}\}", r"`\1`", alert.summary)
    return f"""### {alert.name}

{summary} Severity `{alert.severity}`, if the condition holds{held}:

```promql
{_lines(alert.expression())}
```

{alert.action}{silent}
"""


def _lines(expression: str) -> str:
    """Return the expression with a line for each operand."""
    return re.sub(r" (and|or|unless) ", r"\n  \1 ", expression)


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(page(path.read_text()))
