"""Registration of commands: options with their help, connection to meta, and the answer."""

import inspect
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, TypeVar

import click
from click.core import ParameterSource
from click.exceptions import Exit

from segplane.cli.connection import (
    DEFAULT_ADDRESS,
    TENANT_VARIABLE,
    MetaAddress,
    TenantOption,
    connect,
    one_line_refusals,
)
from segplane.cli.output import Answer, AsJson, json_text
from segplane.cli.parameters import click_parameter

Function = TypeVar("Function", bound=Callable[..., Answer | None])
_OPTIONS = "\n\nOptions:\n"
_OPTION = re.compile(r"    (\w+): (.*)")


def group(about: str | None = None) -> click.Group:
    """Return a group of commands, or the one command of a module."""
    return click.Group(no_args_is_help=True, help=about)


def command(
    app: click.Group, example: str, name: str | None = None, *, hidden: bool = False
) -> Callable[[Function], Function]:
    """Register a function as a command; its docstring is the help.

    A parameter with a default is an option, one without is an argument, unless an
    annotation says more. A function with the parameters `client` or `address` gets a client, or the
    address of meta, and its command the options --meta-address and --tenant; one that returns an
    Answer gets --json.
    """

    def register(function: Function) -> Function:
        signature = inspect.signature(function)
        names = list(signature.parameters)
        about, helps = _documented(function.__doc__ or "")
        parameters = [
            click_parameter(parameter, helps.get(name))
            for name, parameter in signature.parameters.items()
            if name not in ("client", "address")
        ]
        if "client" in names or "address" in names:
            parameters += _of_connection()
        if signature.return_annotation is Answer and "as_json" not in names:
            parameters.append(_further("as_json", AsJson, False))

        def run(**values: Any) -> None:
            given = {name: _plain(values[name]) for name in names if name != "client"}
            as_json = values.get("as_json", False)
            address = values.get("address", "")
            with ExitStack() as stack:
                stack.enter_context(_in_tenant(values.get("in_tenant", "")))
                stack.enter_context(one_line_refusals(address))
                if "client" in names:
                    given["client"] = stack.enter_context(connect(address))
                _show(function(**given), as_json)

        app.add_command(
            click.Command(
                name or function.__name__.replace("_", "-"),
                params=parameters,
                callback=run,
                help=about,
                epilog=f"\b\nExample:\n  segplane {example}",
                hidden=hidden,
            )
        )
        return function

    return register


def with_subcommands(app: click.Group, name: str) -> click.Group:
    """Turn a command into a group, which does the same as before if no subcommand is named."""
    alone = app.commands[name]

    def run(**values: Any) -> None:
        context = click.get_current_context()
        if context.invoked_subcommand is None:
            context.invoke(alone, **values)
            return
        for parameter in alone.params:
            if context.get_parameter_source(parameter.name or "") is ParameterSource.COMMANDLINE:
                raise click.UsageError(f"{parameter.opts[0]} goes without or behind a subcommand")

    made = click.Group(
        name,
        params=alone.params,
        callback=run,
        help=alone.help,
        epilog=alone.epilog,
        invoke_without_command=True,
    )
    app.add_command(made)
    return made


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


def _further(name: str, annotation: Any, default: object) -> click.Parameter:
    kind = inspect.Parameter.KEYWORD_ONLY
    return click_parameter(
        inspect.Parameter(name, kind, default=default, annotation=annotation), None
    )


def _of_connection() -> list[click.Parameter]:
    return [
        _further("address", MetaAddress, DEFAULT_ADDRESS),
        _further("in_tenant", TenantOption, ""),
    ]


@contextmanager
def _in_tenant(tenant: str) -> Iterator[None]:
    """Name the tenant of a command in the environment, from which readers take it."""
    if not tenant:
        yield
        return
    before = os.environ.get(TENANT_VARIABLE, "")
    os.environ[TENANT_VARIABLE] = tenant
    try:
        yield
    finally:
        os.environ[TENANT_VARIABLE] = before


def _plain(value: Any) -> Any:
    """Return a list for an option that was repeated, None if it was not given."""
    return (list(value) or None) if isinstance(value, tuple) else value


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
        raise Exit(answer.exit_code)
