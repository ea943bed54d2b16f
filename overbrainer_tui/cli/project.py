"""The commands `init`, `config check`, `config schema`, `migrate` and `demo`."""

from __future__ import annotations

import logging
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from overbrainer_core.errors import InterruptedByUser
from overbrainer_core.project.paths import ProjectPaths
from overbrainer_tui.cli.context import (
    HELP_NAMES,
    ListingCommand,
    SharedCommand,
    WorkCommand,
    options_of,
    run_async,
    run_in_session,
    start_logging,
)
from overbrainer_tui.cli.output import write_error, write_json, write_line, write_lines, write_warning

if TYPE_CHECKING:
    from overbrainer_core.flows.session import Session
    from overbrainer_tui.cli.work import Work

_log = logging.getLogger("overbrainer.cli")


@click.command(cls=SharedCommand)
@click.argument("directory", required=False, metavar="[DIR]")
@click.pass_context
def init(context: click.Context, directory: str | None) -> None:
    """Write the files of a new project; nothing is written when one of them exists."""
    from overbrainer_core.project.init import init_project  # only here

    options = options_of(context)
    start_logging(options, reads_env=False)
    root = Path(directory) if directory is not None else options.directory
    init_project(root)
    _log.info(
        "next, in %s: copy .env.example to .env, put your provider's address and key in it, "
        "then `overbrainer doctor` tells what is missing",
        root,
    )


@click.group(context_settings=HELP_NAMES, no_args_is_help=True)
def config() -> None:
    """Check the configuration, describe its file."""


@config.command(cls=ListingCommand, short_help="Print what is in effect.")
@click.option("--resolve", is_flag=True, help="Resolve every secret too; values are never printed.")
@click.pass_context
def check(context: click.Context, resolve: bool) -> None:
    """Load the configuration and print what is in effect, one fact a line."""
    from overbrainer_core.config import report  # the settings' libraries
    from overbrainer_core.config.env import read_environment
    from overbrainer_core.config.load import load_settings

    options = options_of(context)
    start_logging(options, reads_env=True)
    paths = ProjectPaths(options.directory)
    environment = read_environment(paths, options.environment)
    settings = load_settings(paths, environment)
    for line in report.deprecations(settings):
        write_warning(line)
    if options.json:
        document = report.check_document(settings, environment)
        if resolve:
            run_async(report.resolve_all(settings, environment))
        write_json(document)
        return
    write_lines(report.check_lines(settings, environment))
    if resolve:
        run_async(report.resolve_all(settings, environment, on_resolved=lambda key: write_line(f"{key}: resolved")))


@config.command(cls=ListingCommand, short_help="Print the JSON Schema of the file, for editors.")
@click.pass_context
def schema(context: click.Context) -> None:
    """Print the JSON Schema of `overbrainer.toml`, for editors that complete and check it."""
    from overbrainer_core.config.json_schema import config_schema  # the settings' libraries

    document = config_schema()
    if options_of(context).json:
        write_json(document)
    else:
        write_json(document, indent=2)


@click.command(cls=SharedCommand)
@click.option("--dry-run", is_flag=True, help="Tell what would be done and write nothing.")
@click.pass_context
def migrate(context: click.Context, dry_run: bool) -> None:
    """Bring a project of an older overbrainer up to date; doing it twice is harmless."""
    from overbrainer_core.flows.migrate import migrate as migrate_project  # the settings' libraries
    from overbrainer_tui.cli.work import LineReport

    options = options_of(context)
    start_logging(options, reads_env=True)
    migrate_project(options.directory, LineReport(is_silent=False), dry_run=dry_run)


@click.command(cls=WorkCommand)
@click.argument("directory", required=False, metavar="[DIR]")
@click.option("--headless", is_flag=True, help="Run all of it without the app.")
@click.option("--yes", is_flag=True, help="Do not ask before it starts.")
@click.pass_context
def demo(context: click.Context, directory: str | None, headless: bool, yes: bool) -> None:
    """Make a small project and run all of it: questions, answers, training. About two minutes.

    No key, no GPU and no download: the parent is played from tables of facts, the child is really trained.
    """
    from overbrainer_core.flows.demo import demo_root, prepare_demo

    options = options_of(context)
    if not headless:
        from overbrainer_tui.cli.tui_command import refuse_without_terminal

        refuse_without_terminal(options.environment)
    start_logging(options, reads_env=False)
    root = demo_root(options.directory, directory)
    project = prepare_demo(root)
    options.directory = project.root
    if not headless:
        from overbrainer_tui.cli.tui_command import open_app

        code = open_app(options, is_demo=True, auto_yes=yes)
        _tell_how_to_go_on(project.root)
        context.exit(code)
    try:
        document = run_in_session(options, _headless_demo)
    except InterruptedByUser:
        _tell_how_to_go_on(project.root)
        raise
    if options.json:
        write_json(document)


def _tell_how_to_go_on(root: Path) -> None:
    """A demo that was left is not in the directory that the commands look at: say what works from here."""
    from overbrainer_core.flows.demo import DEMO_DIRECTORY, Finished, next_step

    if isinstance(next_step(ProjectPaths(root)), Finished):
        return
    where = shlex.quote(str(root))
    again = "overbrainer demo" if root in (Path(), Path(DEMO_DIRECTORY)) else f"overbrainer demo {where}"
    besides = "" if root == Path() else f"; other commands need `-C {where}`"
    write_error(f"demo: `{again}` goes on where it stopped{besides}")


async def _headless_demo(session: Session, work: Work) -> dict[str, Any]:
    """All of the demo, taken up where an earlier call left it."""
    from overbrainer_core.flows import demo as demo_flow  # loads the pipeline's libraries
    from overbrainer_core.flows.follow import attach_run
    from overbrainer_core.flows.stages import run_all
    from overbrainer_core.flows.train import plan_until_interrupted, start_run
    from overbrainer_tui.cli.stages import stage_document
    from overbrainer_tui.cli.train import run_document

    work.report.note("demo: costs $0.00 of real money: the prices and costs shown are played")
    flow: dict[str, Any] = {"bus": work.bus, "report": work.report, "interrupt": work.interrupt}
    outcomes = await run_all(session, **flow)
    step = demo_flow.next_step(session.paths)
    match step:
        case demo_flow.Follow(run_id=run_id) | demo_flow.Finished(run_id=run_id):
            record = await attach_run(session, run_id, **flow)
        case demo_flow.Start(resume_from=run_id):
            plan = await plan_until_interrupted(session, interrupt=work.interrupt, resume_from=run_id)
            record = await start_run(session, plan, **flow)
    return {
        "stages": [stage_document(outcome) for outcome in outcomes],
        "train": run_document(session.paths, record),
    }
