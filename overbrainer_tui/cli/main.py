"""How does the `overbrainer` command start, find its subcommand and end?

Subcommands are imported only when they are called; how a command ends is told by `endings`.
"""

from __future__ import annotations

import importlib
from typing import Any

import click

from overbrainer_core import __version__
from overbrainer_tui.cli.context import HELP_NAMES, Options, root_parameters
from overbrainer_tui.cli.endings import MIGRATE_HINT, exit_code_of
from overbrainer_tui.cli.exit_codes import ExitCode
from overbrainer_tui.cli.output import write_error

_COMMANDS: dict[str, tuple[str, str]] = {
    "init": ("project:init", "Write the files of a new project."),
    "config": ("project:config", "Check the configuration, describe its file."),
    "subtopics": ("stages:subtopics", "Generate the subtopics of each topic."),
    "questions": ("stages:questions", "Fill the subtopics with questions."),
    "answers": ("stages:answers", "Ask the parent to answer the questions."),
    "split": ("stages:split", "Rebuild the training and evaluation data."),
    "run": ("stages:run", "Run every stage, then train."),
    "estimate": ("estimate:estimate", "What is left to ask, and about what it will cost."),
    "train": ("train:train", "Train the child; attach, stop or cancel a run."),
    "runs": ("runs:runs", "List the runs and read their logs."),
    "history": ("runs:history", "What the stages did and spent."),
    "stats": ("stats:stats", "The dataset in numbers."),
    "migrate": ("project:migrate", "Bring a project of an older overbrainer up to date."),
    "doctor": ("doctor:doctor", "Check what is needed before money is spent."),
    "demo": ("project:demo", "Try everything on a small project: no key, no GPU."),
    "tui": ("tui_command:tui", "Open the full-screen app."),
}
"""Subcommands in the order of the help: module and attribute, one line of help."""


class _LazyGroup(click.Group):
    """Loads a subcommand's module when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name == "help":
            return _help_command()
        entry = _COMMANDS.get(cmd_name)
        if entry is None:
            return None
        module, attribute = entry[0].split(":")
        command = getattr(importlib.import_module(f"overbrainer_tui.cli.{module}"), attribute)
        if not isinstance(command, click.Command):
            raise TypeError(entry[0])
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in _COMMANDS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            raise click.UsageError(error.message + _suggestion(args[0]), ctx) from None


def _suggestion(word: str) -> str:
    import difflib  # only for a word that is no command

    close = difflib.get_close_matches(word, _COMMANDS, n=1)
    return f" Did you mean '{close[0]}'?" if close else ""


def _help_command() -> click.Command:
    @click.command("help", context_settings=HELP_NAMES)
    @click.argument("words", nargs=-1, metavar="[COMMAND]...")
    @click.pass_context
    def help_command(context: click.Context, words: tuple[str, ...]) -> None:
        """Show the help of a command."""
        from overbrainer_tui.cli.output import write_line

        parent = context.find_root()
        command: click.Command = parent.command
        for word in words:
            found = command.get_command(parent, word) if isinstance(command, click.Group) else None
            if found is None:
                raise click.UsageError(f"No such command '{word}'.", parent)
            parent = click.Context(found, info_name=word, parent=parent)
            command = found
        write_line(command.get_help(parent))

    return help_command


def _print_version(context: click.Context, _: click.Parameter, value: bool) -> None:
    if value and not context.resilient_parsing:
        click.echo(f"overbrainer {__version__}")
        context.exit()


def build_cli() -> click.Group:
    """The command with its subcommands."""
    version = click.Option(
        ["--version", "-V"],
        is_flag=True,
        expose_value=False,
        is_eager=True,
        callback=_print_version,
        help="Print the version.",
    )
    return _LazyGroup(
        name="overbrainer",
        help="Distill a large parent model into a small child you can run yourself.",
        params=[*root_parameters(), version],
        context_settings=HELP_NAMES,
        no_args_is_help=True,
    )


def run(arguments: list[str]) -> int:
    """Run the command and return its exit code; an old project is told how to be brought up to date at the end."""
    options = Options()
    code = exit_code_of(lambda: _run(arguments, options))
    if options.is_old_project:
        write_error(MIGRATE_HINT)
    return code


def _run(arguments: list[str], options: Options) -> int:
    try:
        value: Any = build_cli().main(args=arguments, prog_name="overbrainer", standalone_mode=False, obj=options)
    except click.exceptions.Exit as error:
        return error.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except click.Abort:
        raise KeyboardInterrupt from None
    return value if isinstance(value, int) else ExitCode.SUCCESS
