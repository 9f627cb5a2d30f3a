"""Prints a seeded sample of mutants of modules, each a line of JSON.

Run by an interpreter that has Cosmic Ray, as a script: it imports nothing of ours.
"""

import json
import random
import sys
from pathlib import Path
from typing import Any

from cosmic_ray.ast import Visitor, ast_nodes, get_ast  # type: ignore[import-not-found]
from cosmic_ray.operators.provider import OperatorProvider  # type: ignore[import-not-found]

# Those of `|` change types, those that insert or replace variables mostly change nothing, and that
# of exceptions fails at a dotted name.
_LEFT_OUT = (
    "BitOr",
    "VariableInserter",
    "VariableReplacer",
    "RemoveDecorator",
    "ExceptionReplacer",
)
# Nodes that no operator changes: most of all nodes. Leaving them out halves the time of a draw.
_UNCHANGED_TYPES = {"name", "newline", "string", "param", "endmarker"}
_PUNCTUATION = set(",.:;()[]{}=") | {"->"}


class _Mutation(Visitor):  # type: ignore[misc]
    """Applies an operator at its place with a number."""

    def __init__(self, operator: Any, occurrence: int) -> None:
        self._operator = operator
        self._left = occurrence

    def visit(self, node: Any) -> Any:
        """Change the node if it has the place."""
        for index, _ in enumerate(self._operator.mutation_positions(node)):
            if self._left == 0:
                node = self._operator.mutate(node, index)
            self._left -= 1
        return node


# A place of a module, and the operators that change it, each with the occurrence that is there.
Place = tuple[str, tuple[int, int]]
Changes = list[tuple[str, int]]


def places(path: Path, operators: dict[str, Any]) -> dict[Place, Changes]:
    """List the places of a module that can be changed."""
    nodes = [
        node
        for node in ast_nodes(get_ast(path.read_text()))
        if node.type not in _UNCHANGED_TYPES
        and not (node.type == "operator" and node.value in _PUNCTUATION)
    ]
    changes: dict[Place, Changes] = {}
    for name, operator in operators.items():
        starts = (start for node in nodes for start, _ in operator.mutation_positions(node))
        for occurrence, start in enumerate(starts):
            changes.setdefault((str(path), start), []).append((name, occurrence))
    return changes


def main(sample: int, seed: int, folders: list[str]) -> None:
    """Draw places over the modules below folders, and a change of each."""
    provider = OperatorProvider()
    operators = {
        name: provider[name]() for name in provider if not any(part in name for part in _LEFT_OUT)
    }
    modules = sorted(path for folder in folders for path in Path(folder).rglob("*.py"))
    changes: dict[Place, Changes] = {}
    for module in modules:
        if "_pb2" not in module.name:
            changes |= places(module, operators)
    draw = random.Random(seed)
    # By places: an arithmetic operator has eleven changes, and a comparison few.
    for path, start in draw.sample(sorted(changes), min(sample, len(changes))):
        name, occurrence = draw.choice(changes[path, start])
        code = _Mutation(operators[name], occurrence).walk(get_ast(Path(path).read_text()))
        mutant = {"path": path, "line": start[0], "operator": name, "code": code.get_code()}
        print(json.dumps(mutant | {"of": len(changes)}))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
