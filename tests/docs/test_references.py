"""The documentation names only modules, files, links and make targets that exist."""

import re

import pytest

from tests.docs.pages import ROOT, DocumentPage, pages
from tests.docs.references import broken

# Names in lists of changes may have been removed since.
RECORDS = ("CHANGELOG.md", "docs/releases/")
PAGES = [page for page in pages() if not page.name.startswith(RECORDS)]
_TARGET = re.compile(r"\bmake ([a-z][a-z-]*)\b(?!:)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


@pytest.mark.parametrize(
    ("reference", "is_broken"),
    [
        pytest.param("meta/errors.py", False, id="a file"),
        pytest.param("meta/client", False, id="a module as a path"),
        pytest.param("meta/store/", False, id="a folder"),
        pytest.param("meta/{config,errors}.py", False, id="braces"),
        pytest.param("protos/meta/v1/*.proto", False, id="a glob"),
        pytest.param("meta.client.MetaClient", False, id="a class"),
        pytest.param("meta.v1", False, id="a package"),
        pytest.param("segplane.lineage", False, id="a footer key"),
        pytest.param("dataset/<id>/merged/", False, id="an object key"),
        pytest.param("status_code", False, id="a column"),
        pytest.param("meta/no_such_module", True, id="no such path"),
        pytest.param("meta/{config,no_such_module}.py", True, id="no such path in braces"),
        pytest.param("meta.no_such_module", True, id="no such module"),
        pytest.param("meta.client.NoSuchClass", True, id="no such class"),
        pytest.param("tests/meta/test_no_such.py", True, id="no such test"),
    ],
)
def test_a_reference_is_resolved(reference: str, is_broken: bool) -> None:
    assert broken(reference) is is_broken


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_names_modules_and_files_that_exist(page: DocumentPage) -> None:
    assert [span for span in page.spans() if broken(span)] == []


@pytest.mark.parametrize("page", [*pages()], ids=lambda page: page.name)
def test_a_page_links_to_files_and_headings_that_exist(page: DocumentPage) -> None:
    assert [link for link in page.links() if not _leads_somewhere(page, link)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_names_make_targets_that_exist(page: DocumentPage) -> None:
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    code = "\n".join((*page.spans(), *re.findall(r"^ *make .*$", page.text, re.MULTILINE)))

    assert set(_TARGET.findall(code)) - targets == set()


def _leads_somewhere(page: DocumentPage, link: str) -> bool:
    if re.match(r"[a-z]+:", link):
        return True
    path, _, anchor = link.partition("#")
    target = (ROOT / page.name).parent / path if path else ROOT / page.name
    if not target.exists():
        return False
    return not anchor or anchor in {_anchor(h) for h in _HEADING.findall(target.read_text())}


def _anchor(heading: str) -> str:
    """Form the anchor of a heading as GitHub does."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
