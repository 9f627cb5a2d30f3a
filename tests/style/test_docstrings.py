"""A docstring begins with a noun or a verb, not with a question (docs/contributing/style.md)."""

import ast
import re

from tests.style.test_sizes import ROOT, modules

_QUESTION = re.compile(r"(Who|Whose|What|Which|Where|When|Why|How)\b")
_DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def test_no_docstring_begins_with_a_question() -> None:
    docstrings = {
        f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 1)}": docstring
        for path in modules()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, _DOCUMENTED) and (docstring := ast.get_docstring(node))
    }

    assert len(docstrings) > 1000
    assert {place: text for place, text in docstrings.items() if _QUESTION.match(text)} == {}
