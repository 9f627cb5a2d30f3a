"""Debian's Chromium, as `make browser` unpacks it, driven by Playwright."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

_ROOT = Path(__file__).parents[3]
PROGRAM = _ROOT / "build" / "browser" / "chromium"
# Rules of accessibility, from npm.
AXE = _ROOT / "build" / "console" / "node_modules" / "axe-core" / "axe.min.js"
_SERIOUS = ("serious", "critical")
FOREIGN_NAME = "pages.example"
_RESOLVE = f"--host-resolver-rules=MAP {FOREIGN_NAME} 127.0.0.1"


@dataclass(slots=True)
class Tab:
    """A page of the browser, and all that the browser complained about in it."""

    page: Page
    complaints: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Listen."""
        self.page.on("console", lambda message: self._hear(message))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def _hear(self, message: Any) -> None:
        # The policy's violations are among them. A refusal as an answer is no mistake of it.
        if message.type in ("error", "warning") and "Failed to load resource" not in message.text:
            self.complaints.append(message.text)

    def serious_findings(self) -> list[str]:
        """Check the page by the rules of WCAG 2.2 AA and good practice."""
        self.page.evaluate(AXE.read_text())
        found = self.page.evaluate("axe.run().then(results => results.violations)")
        return [
            f"{rule['id']}: {rule['help']}: {node['html'][:200]}"
            for rule in found
            if rule["impact"] in _SERIOUS
            for node in rule["nodes"]
        ]

    def is_wider_than_its_window(self) -> bool:
        """Tell whether the page scrolls sideways."""
        return bool(self.page.evaluate("document.documentElement.scrollWidth > window.innerWidth"))


@contextmanager
def chromium() -> Iterator[Browser]:
    """Run the browser, in which FOREIGN_NAME is this machine; skips the test without it."""
    if not (PROGRAM.exists() and AXE.exists()):
        pytest.skip("no browser: run `make browser`")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=PROGRAM, args=[_RESOLVE])
        yield browser
        browser.close()
