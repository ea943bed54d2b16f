"""How far is auto mode? Four stages, then a run, each link only after the one before ended well."""

from __future__ import annotations

from overbrainer_core.values.stage import Stage
from overbrainer_tui.view_models.pipeline import TRAIN
from overbrainer_tui.view_models.snapshots import ChainLink, Progress


class AutoChain:
    """One chain; it stays on screen after its end, showing where it stopped."""

    def __init__(self, *, has_training: bool, resume_from: str | None = None) -> None:
        self._names = [stage.value for stage in Stage] + ([TRAIN] if has_training else [])
        self._index = 0
        self._is_stopped = False
        self.resume_from = resume_from
        self.task: int | None = None
        """The task of the link that runs."""

    @property
    def current(self) -> str | None:
        """The link that runs now, or the one it stopped at; None at the end."""
        return self._names[self._index] if self._index < len(self._names) else None

    @property
    def is_running(self) -> bool:
        """Whether a link runs or is about to."""
        return not self._is_stopped and self.current is not None

    @property
    def is_training(self) -> bool:
        """Whether the chain is at its run."""
        return self.is_running and self.current == TRAIN

    def advance(self) -> str | None:
        """The link that runs ended well; the next one's name, None at the end."""
        self._index += 1
        self.task = None
        return self.current

    def stop(self) -> None:
        """The link that runs did not end well: no further link starts."""
        self._is_stopped = True
        self.task = None

    def links(self) -> tuple[ChainLink, ...]:
        """The links with their marks."""
        return tuple(ChainLink(name=name, progress=self._progress(at)) for at, name in enumerate(self._names))

    def _progress(self, at: int) -> Progress:
        if at < self._index:
            return Progress.DONE
        if at > self._index:
            return Progress.PENDING
        return Progress.STOPPED if self._is_stopped else Progress.RUNNING
