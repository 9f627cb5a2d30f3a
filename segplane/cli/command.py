"""Registration of commands: options with their help, connection to meta, and the answer."""

import inspect
import re
import sys
from collections.abc import Callable, Iterator
from copy import copy
from typing import Annotated, Any, TypeVar, get_args, get_origin

import typer

from segplane.cli.connection import DEFAULT_ADDRESS, MetaAddress, connect
from segplane.cli.output import Answer, AsJson, json_text

Function = TypeVar("Function", bound=Callable[..., Answer | None])
_OPTIONS = "\n\nOptions:\n"
_OPTION = re.compile(r"    (\w+): (.*)")


def group(about: str | None = None) -> typer.Typer:
    """Return a group of commands, or the one command of a module."""
    return typer.Typer(no_args_is_help=True, help=about, rich_markup_mode=None)


def command(
    app: typer.Typer, example: str, name: str | None = None, *, hidden: bool = False
) -> Callable[[Function], Function]:
    """Register a function as a command; its docstring is the help.

    A parameter with a default is an option, one without is an argument, unless an annotation of
    Typer says more. A function with the parameters `client` or `address` gets a client, or the
    address of meta, and its command the option --meta-address; one that returns an Answer gets
    --json.
    """

    def register(function: Function) -> Function:
        signature = inspect.signature(function)
        names = list(signature.parameters)
        about, helps = _documented(function.__doc__ or "")
        parameters = [
            _parameter(p.name, _annotation(p, helps.get(p.name)), p.default)
            for p in signature.parameters.values()
            if p.name not in ("client", "address")
        ]
        if "client" in names or "address" in names:
            parameters.append(_parameter("address", MetaAddress, DEFAULT_ADDRESS))
        if signature.return_annotation is Answer and "as_json" not in names:
            parameters.append(_parameter("as_json", AsJson, False))

        def run(**values: Any) -> None:
            given = {name: values[name] for name in names if name != "client"}
            as_json = values.get("as_json", False)
            if "client" not in names:
                _show(function(**given), as_json)
                return
            with connect(values["address"]) as client:
                _show(function(client=client, **given), as_json)

        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {}
        run.__doc__, run.__name__ = about, function.__name__
        app.command(name, epilog=f"\b\nExample:\n  segplane {example}", hidden=hidden)(run)
        return function

    return register


def _documented(text: str) -> tuple[str, dict[str, str]]:
    """Split a docstring into the help of the command and those of its options."""
    about, _, section = inspect.cleandoc(text).partition(_OPTIONS)
    helps: dict[str, str] = {}
    for line in section.splitlines():
        if option := _OPTION.fullmatch(line):
            last, helps[option[1]] = option[1], option[2]
        else:
            helps[last] += f" {line.strip()}"
    return about, helps


def _annotation(parameter: inspect.Parameter, text: str | None) -> Any:
    """Return the annotation of a parameter with its help."""
    if text is None:
        return parameter.annotation
    if get_origin(parameter.annotation) is Annotated:
        type_, given = get_args(parameter.annotation)
        info = copy(given)
        info.help = text
    else:
        type_, has_default = parameter.annotation, parameter.default is not parameter.empty
        # A flag has no negative form.
        flags = [f"--{parameter.name.replace('_', '-')}"] * (parameter.default is False)
        info = typer.Option(*flags, help=text) if has_default else typer.Argument(help=text)
    return Annotated[type_, info]


def _parameter(name: str, annotation: Any, default: object) -> inspect.Parameter:
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, kind, default=default, annotation=annotation)


def _show(answer: Answer | None, as_json: bool) -> None:
    if answer is None:
        return
    lines: Iterator[str] = iter(answer.text)
    if as_json:
        lines = json_text(answer.data, has_json_lines=answer.has_json_lines)
    for line in lines:
        print(line, flush=answer.has_json_lines)
    for note in answer.notes:
        print(note, file=sys.stderr)
    if answer.exit_code:
        raise typer.Exit(answer.exit_code)
