"""Top level of the command line: the help of each command, and the module that has it.

A command's module is imported when the command is run, so that others do not pay for it.
"""

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import click
from click.exceptions import Exit

from segplane.cli.connection import EXIT_USAGE
from segplane.cli.environment import profiles

# The code for shells of a process that SIGINT ends.
EXIT_INTERRUPTED = 130

# Modules of segplane.cli.commands, each with its commands or groups and their help.
COMMANDS = {
    "run.running": {
        "dev": "Run Postgres, meta, a collector, a gateway and the workers until Ctrl-C.",
        "migrate": "Upgrade the database to this release's schema, as meta does at start.",
    },
    "run.console": {"console": "Print an address that opens the console of `segplane dev`."},
    "run.demo": {"demo": "Ingest this machine's logs and Segplane's own, and check every record."},
    "define.groups": {"groups": "Create, list, rename and delete groups of datasets."},
    "define.resources": {
        "resources": "List resources of a kind, and update notes, labels and contexts."
    },
    "define.datasets": {"datasets": "Create, list, set up and delete datasets."},
    "read.iceberg": {"iceberg": "Read datasets as Iceberg tables."},
    "send.tokens": {"tokens": "Create, list, route and revoke ingest tokens."},
    "operate.streams": {
        "streams": "Show ingest streams and their offsets; pass what cannot be read."
    },
    "read.segments": {
        "segments": "Find merged segments, as a query engine does; repair damaged ones."
    },
    "operate.tasks": {"tasks": "Show, plan and release merge tasks."},
    "operate.status": {
        "status": "Show each process, and whether anything needs a person. Exit code 1 if so."
    },
    "operate.doctor": {
        "doctor": "Check the installation, and say what to do. Exit code 1 if a person is needed."
    },
    "operate.freshness": {
        "freshness": "Show how long records wait to be visible. Exit code 1 if data is late."
    },
    "operate.why": {
        "why": "Show which stage holds a dataset's data, and the next step. Exit code 1 if a person"
        " has to act."
    },
    "operate.costs": {
        "costs": "Show the costs of datasets in a month: bytes, requests, CPU; money by prices."
    },
    "operate.trace": {
        "trace": "Show what records have come through, from their commit to readers."
    },
    "operate.workers": {
        "workers": "Show processes as status does; give settings to a worker or a class of workers."
    },
    "operate.rewrites": {"rewrites": "List, pause, resume, cancel and bound rewrites of segments."},
    "read.pins": {"pins": "List and release pins: versions that readers keep from being deleted."},
    "repair.quarantine": {
        "quarantine": "List payloads that could not be merged, replay or drop them."
    },
    "operate.vacuum": {
        "vacuum": "Expire versions older than an age, and delete what only they show."
    },
    "operate.backup": {
        "backup": "Back the database up, and keep what its backups name in the bucket."
    },
    "operate.deletion": {
        "deletion": "Show the state of deletion; hold and release it; plan what will be deleted."
    },
    "repair.catalog": {
        "catalog": "Bring the catalog back from the bucket after a restore or a loss."
    },
    "define.schemas": {"schemas": "Create, list, change and delete schemas."},
    "define.projections": {
        "projections": "Create, list, change and delete projections (docs/kql.md)."
    },
    "define.views": {"views": "Create, change, link and list views, print them as SQL."},
    "read.query": {"query": "Ask datasets and views in KQL (docs/kql.md) or SQL."},
    "access.tenants": {
        "tenants": "Create, list, suspend and delete tenants: teams of one installation."
    },
    "access.access": {
        "access": "Create and revoke access tokens of services and people; set quotas of creators."
    },
    "read.reading": {
        "read": "Write the records of a dataset to a file.",
        "sql": "Query datasets and views in DuckDB's SQL. Nothing is written.",
    },
    "send.delivery": {
        "test-send": "Send log records and wait until readers see each of them once."
    },
    "send.canary": {
        "canary": "Send a log record at an interval and follow each until readers see it once."
        " Exit code 1 if one is lost, late or doubled."
    },
    "access.login": {
        "login": "Log in to a meta and keep the credential for later commands.",
        "logout": "Forget the credential that `segplane login` has saved.",
        "whoami": "Show as whom meta knows this caller, and by which credential.",
    },
    "access.audit": {"audit": "List and follow the audit log: each change and its author."},
    "read.stats": {"stats": "Count segments, bytes and merge tasks."},
    "repair.fsck": {
        "fsck": "Compare meta with the object store. Exit code 1 if anything is wrong."
    },
    "repair.losses": {"losses": "List the records that operators have accepted to lose."},
    "run.config": {"config": "Show the settings of processes."},
    "run.completion": {"completion": "Complete commands, options and names in your shell."},
    "run.spark_env": {"spark-env": "Pack this environment's packages for executors of Spark."},
    "run.version": {"version": "Print the version."},
}
_MODULES = {name: module for module, names in COMMANDS.items() for name in names}
_HELP = {name: text for names in COMMANDS.values() for name, text in names.items()}
# Names of 0.2.0 and their successors; a command without one still exists, hidden from the help.
OLD_NAMES = {
    "datasets settings": "",
    "datasets undelete": "datasets delete --undo",
    "deletion status": "deletion",
    "deletion hold": "deletion --hold",
    "deletion release": "deletion --release",
    "serve": "dev --meta-only",
    "version": "",
    "views sql": "views show --sql",
    "audit tail": "audit list --follow",
    "views unlink": "views link --remove",
    "rewrites pause": "rewrites update --state paused",
    "rewrites resume": "rewrites update --state running",
    "rewrites cancel": "rewrites update --state cancelled",
    "rewrites limit": "rewrites update",
    "rewrites follow": "rewrites show --follow",
    "segments get": "segments show",
    "segments unhide": "segments hide --undo",
    "segments revert": "segments replace --undo",
    "streams locate": "streams show",
}
_SUCCESSORS = {
    "version": "--version",
    "datasets settings": "datasets retention, limits, columns, deduplication or placement",
}


class TopLevel(click.Group):
    """Group that imports the module of a command once the command is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names of all commands."""
        return list(_MODULES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Load a command or a group."""
        # Suggestions for an unknown name are made of the keys.
        self.commands.update(dict.fromkeys(_MODULES.keys() - self.commands.keys()))  # type: ignore[arg-type]
        if cmd_name not in _MODULES:
            return None
        module = import_module(f"segplane.cli.commands.{_MODULES[cmd_name]}")
        group: click.Group = module.app
        if cmd_name in group.commands:
            return group.commands[cmd_name]
        group.name = cmd_name
        group.help = group.help or _HELP[cmd_name]
        return group

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command, with a profile if it calls a server; Ctrl-C ends it without a word."""
        arguments = [*ctx._protected_args, *ctx.args]
        try:
            if not arguments or _MODULES.get(arguments[0], "run.").startswith("run."):
                return super().invoke(ctx)
            with profiles.applied(ctx.params.get("profile") or "", arguments):
                return super().invoke(ctx)
        except profiles.ProfileError as error:
            print(f"error: {error}", file=sys.stderr)
            raise Exit(EXIT_USAGE) from None
        except KeyboardInterrupt:
            raise Exit(EXIT_INTERRUPTED) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the commands without importing them."""
        with formatter.section("Commands"):
            shown = [(name, text) for name, text in _HELP.items() if name not in OLD_NAMES]
            formatter.write_dl(shown)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Replace a name of 0.2.0, with a warning."""
        return super().parse_args(ctx, renamed(args))


def renamed(arguments: Sequence[str]) -> list[str]:
    """Return arguments by the names of today."""
    names = (" ".join(arguments[:words]) for words in (2, 1))
    name = next((name for name in names if name in OLD_NAMES), None)
    if name is None:
        return list(arguments)
    successor = OLD_NAMES[name]
    today = _SUCCESSORS.get(name, successor)
    print(f"warning: `segplane {name}` is now `segplane {today}`", file=sys.stderr)
    return [*(successor or name).split(), *arguments[len(name.split()) :]]
