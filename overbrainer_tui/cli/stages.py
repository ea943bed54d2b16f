"""The commands of the dataset stages, and `run`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from overbrainer_core.values.stage import Stage
from overbrainer_tui.cli.context import WorkCommand, options_of, run_in_session
from overbrainer_tui.cli.output import write_json

if TYPE_CHECKING:
    from overbrainer_core.flows.session import Session
    from overbrainer_core.flows.stages import StageOutcome
    from overbrainer_tui.cli.work import Work

_topic = click.option("--topic", metavar="NAME", help="Only this topic.")
_force = click.option("--force", is_flag=True, help="Drop what is stored for the selected topics first.")


@click.command(cls=WorkCommand)
@_topic
@_force
@click.pass_context
def subtopics(context: click.Context, topic: str | None, force: bool) -> None:
    """Generate the missing subtopics of each topic."""
    _run_stage(context, Stage.SUBTOPICS, topic=topic, force=force)


@click.command(cls=WorkCommand)
@_topic
@_force
@click.pass_context
def questions(context: click.Context, topic: str | None, force: bool) -> None:
    """Fill the subtopics with questions; generates subtopics first where a topic has none."""
    _run_stage(context, Stage.QUESTIONS, topic=topic, force=force)


@click.command(cls=WorkCommand)
@_topic
@_force
@click.pass_context
def answers(context: click.Context, topic: str | None, force: bool) -> None:
    """Ask the parent to answer the open questions (paid requests)."""
    _run_stage(context, Stage.ANSWERS, topic=topic, force=force)


@click.command(cls=WorkCommand)
@_topic
@click.pass_context
def split(context: click.Context, topic: str | None) -> None:
    """Rebuild data/train.jsonl and data/eval.jsonl from the usable answers."""
    _run_stage(context, Stage.SPLIT, topic=topic, force=False)


@click.command(cls=WorkCommand)
@click.pass_context
def run(context: click.Context) -> None:
    """Run subtopics, questions, answers and split, then train when [training] is there."""
    options = options_of(context)
    document = run_in_session(options, run_everything)
    if options.json:
        write_json(document)


async def run_everything(session: Session, work: Work) -> dict[str, Any]:
    """The four stages, then a training run on the configured target; the document of `--json`."""
    from overbrainer_core.flows.stages import run_all  # the pipeline's libraries
    from overbrainer_core.flows.train import plan_until_interrupted, start_run
    from overbrainer_tui.cli.train import run_document

    flow: dict[str, Any] = {"bus": work.bus, "report": work.report, "interrupt": work.interrupt}
    outcomes = await run_all(session, **flow)
    document: dict[str, Any] = {"stages": [stage_document(outcome) for outcome in outcomes], "train": None}
    if session.settings.training is None:
        return document
    plan = await plan_until_interrupted(session, interrupt=work.interrupt)
    record = await start_run(session, plan, **flow)
    document["train"] = run_document(session.paths, record)
    return document


def _run_stage(context: click.Context, stage: Stage, *, topic: str | None, force: bool) -> None:
    options = options_of(context)

    async def body(session: Session, work: Work) -> Sequence[StageOutcome]:
        from overbrainer_core.flows.stages import StageCommand  # the pipeline's libraries

        async with StageCommand(session, bus=work.bus, report=work.report, interrupt=work.interrupt) as command:
            return await command.run_chain(stage, topic=topic, force=force)

    outcomes = run_in_session(options, body)
    if options.json:
        document = stage_document(outcomes[-1])
        for earlier in outcomes[:-1]:
            document[str(earlier.stage)] = stage_document(earlier)
        write_json(document)


def stage_document(outcome: StageOutcome) -> dict[str, Any]:
    """A stage's end as the object of `--json`."""
    if outcome.split is not None:
        report = outcome.split
        return {
            "stage": "split",
            "train": report.train,
            "eval": report.eval,
            "excluded": report.excluded_total,
            "orphaned": report.orphaned,
        }
    stats = outcome.stats
    return {
        "stage": str(outcome.stage),
        "done": stats.done,
        "skipped": stats.skipped,
        "failed": stats.failed,
        "excluded": stats.excluded,
        "input_tokens": stats.usage.input_tokens,
        "output_tokens": stats.usage.output_tokens,
        "cost_usd": stats.cost,
        "seconds": round(outcome.seconds, 3),
        "estimate_usd": _expected(outcome),
    }


def _expected(outcome: StageOutcome) -> list[float] | None:
    expected = outcome.estimate.cost_usd if outcome.estimate is not None else None
    return [round(value, 6) for value in expected] if expected is not None else None
