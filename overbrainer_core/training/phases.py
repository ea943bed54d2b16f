"""What is a job doing right now, judged by the lines it wrote?"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from overbrainer_core.values.metric import MarkKind, PhaseMark, TrainMetric


class PhaseKind(StrEnum):
    """What a job does."""

    TRAINING = "training"
    EVALUATING = "evaluating"
    FINAL_EVALUATION = "final evaluation"
    FINALIZING = "finalizing"
    MERGING = "merging"
    EXPORTING = "exporting"
    COMPARING = "comparing"
    RETRIEVING = "retrieving"


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """A phase in words: `text` for a progress line, `short` for a column; counts where it has some."""

    kind: PhaseKind
    text: str
    short: str
    step: int | None = None
    total: int | None = None


class PhaseTracker:
    """Follows the phase of one job line by line."""

    __slots__ = ("_end_seen", "_max_steps", "_pending", "_stage", "_step")

    def __init__(self) -> None:
        self._stage: str | None = None
        self._pending: PhaseMark | None = None
        self._end_seen = False
        self._step = 0
        self._max_steps = 0

    def apply(self, line: TrainMetric | PhaseMark) -> None:
        """Add a line; a `log` ends the evaluation before it."""
        if line.max_steps is not None:
            self._max_steps = line.max_steps
        if isinstance(line, TrainMetric):
            self._pending = None
            self._step = max(self._step, line.step)
            return
        match line.kind:
            case MarkKind.STAGE:
                self._stage = line.name
            case MarkKind.EVAL:
                self._pending = line
            case MarkKind.END:
                self._end_seen = True
            case MarkKind.BEGIN:
                pass

    def phase(self, *, job_ended: bool = False) -> Phase:
        """The phase now; `job_ended` once the job exited while its run is not recorded as ended."""
        if job_ended:
            return Phase(kind=PhaseKind.RETRIEVING, text="retrieving results", short="retrieving")
        match self._stage:
            case "merge":
                return Phase(kind=PhaseKind.MERGING, text="merging adapter", short="merging")
            case "export":
                return Phase(kind=PhaseKind.EXPORTING, text="exporting GGUF", short="exporting")
            case "compare":
                return self._comparing()
            case _:
                return self._training()

    def _comparing(self) -> Phase:
        pending = self._pending
        if pending is None or pending.total is None:
            return Phase(kind=PhaseKind.COMPARING, text="starting llama-server", short="comparing")
        text = f"answering {pending.step}/{pending.total}"
        return Phase(kind=PhaseKind.COMPARING, text=text, short="comparing", step=pending.step, total=pending.total)

    def _training(self) -> Phase:
        is_over = self._end_seen or 0 < self._max_steps <= self._step
        pending = self._pending
        if pending is None:
            if is_over:
                return Phase(kind=PhaseKind.FINALIZING, text="finalizing (saving model)", short="finalizing")
            return Phase(kind=PhaseKind.TRAINING, text="training", short="training")
        count = f"{pending.step}/{pending.total}" if pending.total is not None else f"{pending.step}"
        return Phase(
            kind=PhaseKind.FINAL_EVALUATION if is_over else PhaseKind.EVALUATING,
            text=f"finalizing (evaluation {count})" if is_over else f"evaluating {count}",
            short="evaluating",
            step=pending.step,
            total=pending.total,
        )
