"""Functions of a changed module, put in the place of those that a process has imported.

Importing our packages takes most of a short run. A change inside of a function needs no import,
unless the function ran at import or is not its own function, as the body of a class.
"""

import gc
import importlib
import sys
from collections import defaultdict
from collections.abc import Iterable
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import CodeType, FrameType, FunctionType

# A code object of a module: its qualified name and first line.
Key = tuple[str, int]


class Imported:
    """Our modules below a folder, imported here."""

    def __init__(self, tree: Path, modules: Iterable[str]) -> None:
        self._tree = tree
        self._ran: set[CodeType] = set()
        sys.setprofile(self._note)
        try:
            for module in modules:
                importlib.import_module(module)
        finally:
            sys.setprofile(None)
        self._functions: defaultdict[str, list[FunctionType]] = defaultdict(list)
        for found in gc.get_objects():
            if isinstance(found, FunctionType):
                self._functions[found.__code__.co_filename].append(found)

    def swap(self, path: str, original: str, changed: str) -> bool:
        """Give functions their changed code; False if the module must be imported anew."""
        file = str(self._tree / path)
        name = ".".join(Path(path).with_suffix("").parts).removesuffix(".__init__")
        if name not in sys.modules:
            return True
        before, after = (_codes(compile(text, file, "exec")) for text in (original, changed))
        at_import = {_key(code) for code in self._ran if code.co_filename == file}
        functions = self._functions[file]
        if not functions or before.keys() != after.keys():
            return False
        for key, codes in before.items():
            runs_at_import = key in at_import or not codes[0].co_flags & CO_OPTIMIZED
            is_one = len(codes) == len(after[key]) == 1
            if codes != after[key] and (
                not is_one or (runs_at_import and _own(codes[0]) != _own(after[key][0]))
            ):
                return False
        for function in functions:
            (code, *others) = after[_key(function.__code__)]
            if not others:
                function.__code__ = code
        return True

    def forget(self) -> None:
        """Let our modules be imported again, but for generated ones, which register themselves."""
        for name, module in list(sys.modules.items()):
            file = getattr(module, "__file__", None) or ""
            if file.startswith(f"{self._tree}/") and "_pb2" not in name:
                del sys.modules[name]

    def _note(self, frame: FrameType, event: str, _argument: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(f"{self._tree}/"):
            self._ran.add(frame.f_code)


def _key(code: CodeType) -> Key:
    return code.co_qualname, code.co_firstlineno


def _codes(module: CodeType) -> dict[Key, list[CodeType]]:
    """Give the code objects of a module; two lambdas on one line have one key."""
    codes: defaultdict[Key, list[CodeType]] = defaultdict(list)
    waiting = [module]
    while waiting:
        code = waiting.pop()
        codes[_key(code)].append(code)
        waiting.extend(c for c in code.co_consts if isinstance(c, CodeType))
    return codes


def _own(code: CodeType) -> tuple[object, ...]:
    """Everything that a code object does, without those inside of it."""
    constants = tuple(repr(c) for c in code.co_consts if not isinstance(c, CodeType))
    return code.co_code, constants, code.co_names, code.co_varnames
