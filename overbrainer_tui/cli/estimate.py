"""The command `estimate`: what is left to ask in requests, tokens and dollars. The only request is that for prices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from overbrainer_core.values.stage import Stage
from overbrainer_tui.cli.context import ListingCommand, options_of, run_in_session
from overbrainer_tui.cli.output import write_json, write_lines

if TYPE_CHECKING:
    from overbrainer_core.flows.session import Session
    from overbrainer_core.pipeline.estimate import StageEstimate
    from overbrainer_tui.cli.work import Work

_STAGES = [str(stage) for stage in Stage if stage is not Stage.SPLIT]


@click.command(cls=ListingCommand)
@click.option("--stage", type=click.Choice(_STAGES), help="Only this stage, as it would run now.")
@click.option("--topic", metavar="NAME", help="Only this topic.")
@click.pass_context
def estimate(context: click.Context, stage: str | None, topic: str | None) -> None:
    """Tell what is left to do in requests, tokens and dollars, and from what that is estimated.

    Without --stage the stages are taken as `run` would run them, each with what the ones before it will have made.
    """
    options = options_of(context)

    async def body(session: Session, work: Work) -> list[StageEstimate]:
        from overbrainer_core.flows.estimate import estimate_stages  # the pipeline's libraries

        named = Stage(stage) if stage is not None else None
        return await work.interrupt.race(estimate_stages(session, stage=named, topic=topic, report=work.report))

    estimates = run_in_session(options, body, lock=False)
    if options.json:
        write_json(estimate_document(estimates))
        return
    from overbrainer_core.pipeline.estimate import estimate_line, total_line  # loaded by the work above

    write_lines([*map(estimate_line, estimates), *([total_line(estimates)] if len(estimates) > 1 else [])])


def estimate_document(estimates: list[StageEstimate]) -> dict[str, Any]:
    """The estimates as the document of `--json`."""
    from overbrainer_core.pipeline.estimate import total_cost  # loaded by the work before

    total = total_cost(estimates)
    return {
        "stages": [
            {
                "stage": str(found.stage),
                "requests": found.requests,
                "input_tokens": list(found.input_tokens),
                "output_tokens": list(found.output_tokens),
                "cost_usd": _dollars(found.cost_usd),
                "basis": str(found.basis),
            }
            for found in estimates
        ],
        "total_usd": _dollars(total),
    }


def _dollars(found: tuple[float, float] | None) -> list[float] | None:
    return [round(value, 6) for value in found] if found is not None else None
