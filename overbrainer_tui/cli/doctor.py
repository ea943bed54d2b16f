"""The command `doctor`: what a project needs before money is spent, one finding a line."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from overbrainer_core.text import escape_controls
from overbrainer_tui.cli.context import ListingCommand, Options, options_of, run_async, start_logging
from overbrainer_tui.cli.output import write_json, write_line

if TYPE_CHECKING:
    from overbrainer_core.flows.doctor_checks.base import Check


@click.command(cls=ListingCommand)
@click.option("--target", metavar="NAME", help="Look at this target instead of training.target.")
@click.option("--offline", is_flag=True, help="Leave out what needs the network.")
@click.pass_context
def doctor(context: click.Context, target: str | None, offline: bool) -> None:
    """Check keys, providers, models, prompts, the target and its GPUs; nothing is changed or spent.

    The exit code is 1 when something would fail.
    """
    from overbrainer_core.flows.doctor import is_fit  # loads the libraries of everything it looks at

    options = options_of(context)
    start_logging(options, reads_env=False)
    checks = run_async(_examine(options, target=target, offline=offline))
    if options.json:
        write_json({"checks": [asdict(check) for check in checks], "ok": is_fit(checks)})
    if not is_fit(checks):
        context.exit(1)


async def _examine(options: Options, *, target: str | None, offline: bool) -> list[Check]:
    """All findings; without `--json` each is printed as soon as it is there."""
    from overbrainer_core.flows.doctor import check_line, examine, summary_line  # as above

    checks: list[Check] = []
    found = examine(options.directory, process_env=options.environment, target=target, offline=offline)
    async for check in found:
        checks.append(check)
        if not options.json:
            write_line(escape_controls(check_line(check)))
    if not options.json:
        write_line(summary_line(checks))
    return checks
