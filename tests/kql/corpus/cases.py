"""All cases of the corpus: those of every module beside this one."""

from importlib import import_module
from pathlib import Path

from tests.kql.corpus.case import Case


def _cases() -> list[Case]:
    names = sorted(path.stem for path in Path(__file__).parent.glob("*.py"))
    modules = [
        import_module(f"tests.kql.corpus.{name}")
        for name in names
        if name != "cases" and not name.startswith("test_")
    ]
    return [case for module in modules for case in getattr(module, "CASES", ())]


CASES = _cases()
SUPPORTED = [case for case in CASES if not case.unsupported]
UNSUPPORTED = [case for case in CASES if case.unsupported]
