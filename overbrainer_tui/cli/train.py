"""The command `train` and its subcommands attach, stop and cancel."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import click

from overbrainer_core.errors import LockedError
from overbrainer_tui.cli.context import HELP_NAMES, Options, WorkCommand, options_of, run_in_session
from overbrainer_tui.cli.output import write_json

if TYPE_CHECKING:
    from overbrainer_core.flows.session import Session
    from overbrainer_core.project.paths import ProjectPaths
    from overbrainer_core.runs.record import RunRecord
    from overbrainer_tui.cli.work import Work


class _TrainGroup(click.Group, WorkCommand):
    """`train` alone trains; with a subcommand its own options are refused."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the group, and the subcommand when there is one."""
        return click.Group.invoke(self, ctx)


@click.group(cls=_TrainGroup, invoke_without_command=True, context_settings=HELP_NAMES)
@click.option("--target", metavar="NAME", help="Train here instead of on training.target.")
@click.option("--resume-from", metavar="RUN_ID", help="Go on from the snapshot of a stopped run.")
@click.pass_context
def train(context: click.Context, target: str | None, resume_from: str | None) -> None:
    """Train the child on the split, follow the job and bring its files back."""
    if context.invoked_subcommand is not None:
        for name, value in (("--target", target), ("--resume-from", resume_from)):
            if value is not None:
                raise click.UsageError(f"{name} does not go with `train {context.invoked_subcommand}`", context)
        return

    async def body(session: Session, work: Work) -> RunRecord:
        from overbrainer_core.flows.train import plan_until_interrupted, start_run  # the training's libraries

        plan = await plan_until_interrupted(session, interrupt=work.interrupt, target=target, resume_from=resume_from)
        return await start_run(session, plan, bus=work.bus, report=work.report, interrupt=work.interrupt)

    _run_and_tell(options_of(context), body)


@train.command(cls=WorkCommand, short_help="Follow a run, bring its files back.")
@click.argument("run_id")
@click.pass_context
def attach(context: click.Context, run_id: str) -> None:
    """Follow a run until it ends and bring its files back; works again on an ended run."""

    async def body(session: Session, work: Work) -> RunRecord:
        from overbrainer_core.flows.follow import attach_run  # the training's libraries

        return await attach_run(session, run_id, bus=work.bus, report=work.report, interrupt=work.interrupt)

    _run_and_tell(options_of(context), body)


@train.command(cls=WorkCommand, short_help="Stop a run with a snapshot.")
@click.argument("run_id")
@click.pass_context
def stop(context: click.Context, run_id: str) -> None:
    """Ask a run for a snapshot and follow it until it stopped; resume it with --resume-from."""

    async def body(session: Session, work: Work) -> RunRecord:
        from overbrainer_core.flows.follow import stop_run  # the training's libraries

        return await stop_run(session, run_id, bus=work.bus, report=work.report, interrupt=work.interrupt)

    _run_or_ask_holder(options_of(context), body, run_id, beside="request_stop_beside")


@train.command(cls=WorkCommand, short_help="End a run at once, without a snapshot.")
@click.argument("run_id")
@click.pass_context
def cancel(context: click.Context, run_id: str) -> None:
    """End a run's job at once, and what is left of it on the target."""

    async def body(session: Session, work: Work) -> RunRecord:
        from overbrainer_core.flows.follow import cancel_run  # the training's libraries

        return await work.interrupt.shield(cancel_run(session, run_id, bus=work.bus, report=work.report))

    _run_or_ask_holder(options_of(context), body, run_id, beside="cancel_beside")


def _run_and_tell(options: Options, body: Callable[[Session, Work], Awaitable[RunRecord]]) -> None:
    seen: list[ProjectPaths] = []

    async def remember(session: Session, work: Work) -> RunRecord:
        seen.append(session.paths)
        return await body(session, work)

    record = run_in_session(options, remember)
    if options.json:
        write_json(run_document(seen[0], record))


def _run_or_ask_holder(
    options: Options, body: Callable[[Session, Work], Awaitable[RunRecord]], run_id: str, *, beside: str
) -> None:
    """Run the command; while another process holds the project, do what can be done beside it."""
    try:
        _run_and_tell(options, body)
    except LockedError as error:
        holder = error.pid

        async def without_lock(session: Session, work: Work) -> None:
            from overbrainer_core.flows import follow  # the training's libraries

            await getattr(follow, beside)(session, run_id, holder=holder, report=work.report)

        run_in_session(options, without_lock, lock=False)
        if options.json:
            write_json({"id": run_id, "run": run_id, "state": "running", "output": None})


def run_document(paths: ProjectPaths, record: RunRecord) -> dict[str, Any]:
    """A run's end as the object of `--json`."""
    output = paths.run(record.id) / "output"
    snapshot = record.snapshot
    return {
        "id": record.id,
        "run": record.id,
        "state": str(record.state),
        "target": record.target,
        "message": record.message,
        "output": str(output) if output.is_dir() else None,
        "snapshot": None
        if snapshot is None
        else {"checkpoint": snapshot.checkpoint, "step": snapshot.step, "reason": str(snapshot.reason)},
        "resumed_from": record.resumed_from,
    }
