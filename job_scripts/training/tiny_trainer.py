"""The embedded trainer: a small Llama learnt from chat records with NumPy on the CPU.

    <python> trainer/tiny_trainer.py tiny.json

Runs in the run's directory; needs Python 3.8, NumPy and the files beside it. The settings file is
one JSON object with exactly these keys, its paths relative to the working directory:

    base_model                    tiny-0.2m, tiny-0.5m or tiny-0.9m
    train_data, eval_data         chat records, JSON lines; eval_data may be null
    epochs                        whole number
    learning_rate                 the peak of the schedule
    sequence_len                  the model's context; a longer example is left out
    micro_batch_size              examples computed at once
    gradient_accumulation_steps   micro batches of one step
    evals_per_epoch               evaluations, at even parts of an epoch and after the last step
    saves_per_epoch               checkpoints, likewise
    seed                          of the first weights and the order of examples, 64 bits
    output_dir                    gets the model, and `checkpoint-<step>` directories
    resume_from_checkpoint        such a directory, or null

`OVERBRAINER_METRICS` names the file that gets a JSON line a step, `OVERBRAINER_SNAPSHOT` the file
whose appearance asks for a snapshot (proof: `snapshot.json` beside it) and an early end;
`OVERBRAINER_TINY_THREADS` overrides the number of threads, 1 or 2. Exit codes: 0 trained or
stopped with a snapshot, 1 not, the reason on stderr.

A batch is always computed in two parts that are added in a fixed order: threads only decide who
computes, so results depend neither on their number nor on where a training was stopped and resumed.
"""

from __future__ import annotations

import os
import sys

if __name__ == "__main__":
    # one BLAS thread for each of ours, which only counts before NumPy is loaded
    for variable in ("OPENBLAS_NUM", "OMP_NUM", "MKL_NUM", "VECLIB_MAXIMUM"):
        os.environ[f"{variable}_THREADS"] = "1"

try:
    import numpy as np
except ImportError:
    if __name__ != "__main__":
        raise
    sys.stderr.write(
        f"the tiny trainer needs NumPy, which {sys.executable} cannot import;"
        f" run `{sys.executable} -m pip install numpy`\n"
    )
    raise SystemExit(1) from None

import ctypes
import json
import math
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Sequence, Tuple
from zipfile import BadZipFile

from tiny_files import (
    ModelFilesError,
    json_bytes,
    read_model,
    sync_directory,
    write_file,
    write_model,
)
from tiny_model import (
    PARTS,
    AdamW,
    Example,
    Model,
    Shape,
    add_gradient,
    clip,
    epoch_batches,
    initial_model,
    learning_rate,
    micro_batches,
    pad,
    summed_loss,
    trained_tokens,
    views,
)
from tiny_tokenizer import (
    Messages,
    Vocabulary,
    chat_message,
    chat_texts,
    chat_tokens,
    learn_vocabulary,
)

if TYPE_CHECKING:
    Array = np.ndarray[Any, Any]

MODELS = {"tiny-0.2m": (64, 2, 192), "tiny-0.5m": (96, 3, 256), "tiny-0.9m": (128, 4, 352)}
"""Hidden size, layers and inner size by name."""
HEADS, KV_HEADS = 4, 2
KEPT_CHECKPOINTS = 2
EVAL_LINE_INTERVAL_S = 2.0
"""Seconds between two progress lines of an evaluation."""
REASONS = ("requested", "deadline", "cost", "disk")
"""Why a snapshot may be asked for; anything else counts as the first."""
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3


class TrainingError(Exception):
    """Why there is no training; the text is for people."""


@dataclass(frozen=True)
class Settings:
    """The settings file; its keys stand in the module's docstring."""

    base_model: str
    train_data: str
    eval_data: Optional[str]
    epochs: int
    learning_rate: float
    sequence_len: int
    micro_batch_size: int
    gradient_accumulation_steps: int
    evals_per_epoch: int
    saves_per_epoch: int
    seed: int
    output_dir: str
    resume_from_checkpoint: Optional[str]

    @property
    def batch_size(self) -> int:
        """Examples of one step."""
        return self.micro_batch_size * self.gradient_accumulation_steps


def say(text: str) -> None:
    """A line for the job's log."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def load_settings(path: Path) -> Settings:
    """The settings of a file with exactly the known keys."""
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a JSON document"
        raise TrainingError(f"cannot read {path}: {reason}") from error
    known = {entry.name for entry in fields(Settings)}
    if not isinstance(content, dict) or set(content) != known:
        raise TrainingError(f"{path} must hold exactly the keys {', '.join(sorted(known))}")
    if content["base_model"] not in MODELS:
        raise TrainingError(f"base_model: must be one of {', '.join(MODELS)}")
    return Settings(**content)


def load_messages(path: Path) -> List[Messages]:
    """The messages of every chat record of a JSON lines file."""
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise TrainingError(f"cannot read {path}: {error.strerror}") from error
    records = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)["messages"]
            records.append([chat_message(message) for message in record])
        except (ValueError, KeyError, TypeError) as error:
            raise TrainingError(f"{path} line {number}: not a chat record") from error
    return records


def fitting_examples(records: List[Messages], vocabulary: Vocabulary, length: int) -> List[Example]:
    """The examples that fit into a context and teach something."""
    examples = [Example.of(*chat_tokens(messages, vocabulary)) for messages in records]
    return [example for example in examples if len(example.ids) <= length and example.trained.any()]


def is_due(step: int, steps_per_epoch: int, times: int) -> bool:
    """Whether a step (from 1) ends one of `times` even parts of its epoch."""
    place = (step - 1) % steps_per_epoch
    return (place + 1) * times // steps_per_epoch > place * times // steps_per_epoch


def usable_threads() -> int:
    """Threads to train with: 2 where two cores are free for us, or what the environment says."""
    wanted = os.environ.get("OVERBRAINER_TINY_THREADS", "")
    if wanted:
        if not wanted.isdigit() or int(wanted) < 1:
            raise TrainingError("OVERBRAINER_TINY_THREADS: must be a whole number from 1")
        return min(int(wanted), PARTS)
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # macOS
        cores = os.cpu_count() or 1
    return min(cores, PARTS)


class Workers:
    """Computes the parts of a batch, by as many threads as it has."""

    def __init__(self, model: Model, threads: int) -> None:
        self._model = model
        self._gradients = [np.zeros_like(model.flat) for _ in range(PARTS)]
        self._views = [views(gradient, model.shape) for gradient in self._gradients]
        self._pool = ThreadPoolExecutor(threads) if threads > 1 else None

    def close(self) -> None:
        """Ends the threads."""
        if self._pool is not None:
            self._pool.shutdown()

    def gradient(self, batches: Sequence[Tuple[Array, Array]]) -> Tuple[float, Array]:
        """Mean loss and its gradient of a batch given in padded micro batches.

        The gradient lives until the next call.
        """

        def add_part(part: int) -> float:
            self._gradients[part].fill(0)
            grads = self._views[part]
            return sum(add_gradient(self._model, *batch, grads) for batch in batches[part::PARTS])

        loss = sum(self._each_part(add_part))
        gradient = self._gradients[0]
        for other in self._gradients[1:]:
            gradient += other
        count = trained_tokens(batches)
        gradient *= 1 / count
        return loss / count, gradient

    def loss(self, batches: Sequence[Tuple[Array, Array]]) -> float:
        """Summed loss of padded micro batches."""

        def part_loss(part: int) -> float:
            return sum(summed_loss(self._model, *batch) for batch in batches[part::PARTS])

        return sum(self._each_part(part_loss))

    def _each_part(self, compute: Callable[[int], float]) -> List[float]:
        if self._pool is None:
            return [compute(part) for part in range(PARTS)]
        return list(self._pool.map(compute, range(PARTS)))


class Metrics:
    """The metrics file: one JSON object a line, flushed at once. Without a path nothing happens.

    A file that cannot be written is said once and never ends a training.
    """

    def __init__(self, path: Optional[str]) -> None:
        self._path = Path(path) if path else None
        self._has_failed = False
        self._start = ""
        self._eval_line_at = -math.inf

    def write(self, event: str, **values: Any) -> None:
        """Appends a line; a number that is not finite becomes null."""
        if self._path is None:
            return
        record: Dict[str, Any] = {"event": event, "time": time.time()}
        for key, value in values.items():
            unsound = isinstance(value, float) and not math.isfinite(value)
            record[key] = None if unsound else value
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("a", encoding="ascii") as file:
                file.write(self._start + json.dumps(record, allow_nan=False) + "\n")
            self._start = ""
        except OSError as error:
            self._start = "\n"  # a full disk may have taken a part, which must not spoil the next line
            if not self._has_failed:
                sys.stderr.write(f"cannot write {self._path}: {error.strerror}\n")
            self._has_failed = True

    def evaluating(self, done: int, total: int) -> None:
        """Appends the progress of an evaluation: its first step, then not too often."""
        now = time.monotonic()
        if done == 1 or now - self._eval_line_at >= EVAL_LINE_INTERVAL_S:
            self._eval_line_at = now
            self.write("eval", step=done, total=total)


class Snapshot:
    """The request for a snapshot and its proof. Without a path nothing is ever asked for."""

    def __init__(self, path: Optional[str]) -> None:
        self._path = Path(path) if path else None

    def reason(self) -> Optional[str]:
        """Why a snapshot was asked for; None when it was not."""
        if self._path is None or not self._path.exists():
            return None
        try:
            with self._path.open("rb") as file:
                word = file.read(64).decode("utf-8", "replace").strip()
        except OSError:
            word = ""
        return word if word in REASONS else REASONS[0]

    def prove(self, checkpoint: str, step: int, reason: str) -> None:
        """Writes the proof. Only called when a snapshot was asked for."""
        if self._path is not None:
            proof = {"checkpoint": checkpoint, "step": step, "time": time.time(), "reason": reason}
            write_file(self._path.with_name("snapshot.json"), json.dumps(proof).encode() + b"\n")


@dataclass
class State:
    """All that a training continues from: what a checkpoint holds."""

    model: Model
    vocabulary: Vocabulary
    optimizer: AdamW
    step: int
    seed: int


def new_state(settings: Settings, records: List[Messages]) -> State:
    """The start of a training: a vocabulary of the data and random weights."""
    vocabulary = learn_vocabulary(chat_texts(records))
    shape = shape_of_settings(settings, len(vocabulary))
    model = initial_model(shape, settings.seed)
    return State(model, vocabulary, AdamW(shape), step=0, seed=settings.seed)


def shape_of_settings(settings: Settings, vocabulary_size: int) -> Shape:
    """The shape that the settings name."""
    hidden, layers, inner = MODELS[settings.base_model]
    return Shape(
        vocab=vocabulary_size,
        hidden=hidden,
        layers=layers,
        heads=HEADS,
        kv_heads=KV_HEADS,
        inner=inner,
        context=settings.sequence_len,
    )


def load_checkpoint(directory: Path) -> State:
    """The state in a checkpoint directory.

    Raises:
        TrainingError: the directory does not hold a whole checkpoint.
    """
    try:
        model, vocabulary = read_model(directory)
        facts = json.loads((directory / "state.json").read_bytes())
        optimizer = AdamW(model.shape)
        with np.load(directory / "state.npz", allow_pickle=False) as arrays:
            model.flat[...] = arrays["weights"]
            optimizer.m[...] = arrays["m"]
            optimizer.v[...] = arrays["v"]
        return State(model, vocabulary, optimizer, step=int(facts["step"]), seed=int(facts["seed"]))
    except ModelFilesError as error:
        raise TrainingError(f"cannot resume: {error}") from error
    except (OSError, ValueError, KeyError, TypeError, EOFError, BadZipFile) as error:
        text = f"cannot resume: {directory} holds no whole checkpoint"
        raise TrainingError(text) from error


def save_checkpoint(directory: Path, state: State, epoch: float) -> None:
    """Writes a checkpoint that is whole as soon as it has its name."""
    unfinished = directory.with_name(f"{directory.name}.tmp")
    shutil.rmtree(unfinished, ignore_errors=True)
    write_model(unfinished, state.model, state.vocabulary)
    with (unfinished / "state.npz").open("wb") as file:
        np.savez(file, weights=state.model.flat, m=state.optimizer.m, v=state.optimizer.v)
        file.flush()
        os.fsync(file.fileno())
    facts = {"step": state.step, "epoch": epoch, "seed": state.seed}
    write_file(unfinished / "state.json", json_bytes(facts))
    if directory.exists():
        replaced = directory.with_name(f"{directory.name}.replaced.tmp")
        directory.rename(replaced)
        unfinished.rename(directory)
        shutil.rmtree(replaced)
    else:
        unfinished.rename(directory)
    sync_directory(directory.parent)


def drop_checkpoints(output: Path, saved: int) -> None:
    """Removes all checkpoints but the one just saved and the newest others that may stay."""
    steps = []
    for directory in output.glob("checkpoint-*"):
        number = directory.name[len("checkpoint-") :]
        if number.isdigit() and int(number) != saved:
            steps.append(int(number))
    for step in sorted(steps)[: 1 - KEPT_CHECKPOINTS]:
        shutil.rmtree(output / f"checkpoint-{step}")


def drop_unfinished(output: Path) -> None:
    """Removes what a killed training left half written."""
    for directory in output.glob("checkpoint-*.tmp"):
        shutil.rmtree(directory)
    for file in output.glob(".*.tmp"):
        file.unlink()


class Training:
    """One training: its data, its state and where it reports to."""

    def __init__(self, settings: Settings, state: State, *, train: List[Example], evals: List[Example]) -> None:
        self.settings = settings
        self.state = state
        self.metrics = Metrics(os.environ.get("OVERBRAINER_METRICS"))
        self.snapshot = Snapshot(os.environ.get("OVERBRAINER_SNAPSHOT"))
        self.steps_per_epoch = math.ceil(len(train) / settings.batch_size)
        self.max_steps = settings.epochs * self.steps_per_epoch
        self._train = train
        self._evals = sorted(evals, key=lambda example: len(example.ids))
        self._output = Path(settings.output_dir)
        self._epoch: Tuple[int, List[Array]] = (-1, [])

    def run(self, threads: int) -> bool:
        """Trains to the end or to a snapshot; False when the loss left the finite numbers."""
        workers = Workers(self.state.model, threads)
        self.metrics.write("begin", max_steps=self.max_steps)
        try:
            while self.state.step < self.max_steps:
                if not self._take_step(workers):
                    return False
                self._evaluate_if_due(workers)
                if self._save_if_due():
                    break
        finally:
            workers.close()
        self.metrics.write("end", step=self.state.step)
        write_model(self._output, self.state.model, self.state.vocabulary)
        return True

    def _take_step(self, workers: Workers) -> bool:
        step = self.state.step + 1
        examples = [self._train[place] for place in self._batch(step)]
        parts = micro_batches(examples, self.settings.micro_batch_size)
        loss, gradient = workers.gradient([pad(part) for part in parts])
        length = clip(gradient)
        rate = learning_rate(self.settings.learning_rate, step, self.max_steps)
        self.state.step = step
        self._log(loss=loss, learning_rate=rate, grad_norm=length)
        if not math.isfinite(loss) or not math.isfinite(length):
            say(f"step {step}: the loss or its gradient is no finite number: training ends")
            return False
        self.state.optimizer.update(self.state.model.flat, gradient, rate=rate, step=step)
        return True

    def _batch(self, step: int) -> Array:
        epoch, place = divmod(step - 1, self.steps_per_epoch)
        if self._epoch[0] != epoch:
            lengths = [len(example.ids) for example in self._train]
            batches = epoch_batches(lengths, self.settings.batch_size, self.state.seed, epoch)
            self._epoch = (epoch, batches)
        return self._epoch[1][place]

    def _evaluate_if_due(self, workers: Workers) -> None:
        if not self._evals or not self._is_due(self.settings.evals_per_epoch):
            return
        size = self.settings.batch_size
        total, tokens = 0.0, 0
        for start in range(0, len(self._evals), size):
            examples = self._evals[start : start + size]
            parts = micro_batches(examples, self.settings.micro_batch_size)
            batches = [pad(part) for part in parts]
            total += workers.loss(batches)
            tokens += trained_tokens(batches)
            self.metrics.evaluating(start // size + 1, math.ceil(len(self._evals) / size))
        loss = total / tokens
        self._log(eval_loss=loss)
        say(f"step {self.state.step}: eval_loss {loss:.4f}")

    def _save_if_due(self) -> bool:
        """Saves where a checkpoint is due or asked for; True when the training stops here."""
        step = self.state.step
        reason = self.snapshot.reason() if step < self.max_steps else None
        if reason is None and not self._is_due(self.settings.saves_per_epoch):
            return False
        name = f"checkpoint-{step}"
        save_checkpoint(self._output / name, self.state, self._epochs_done())
        drop_checkpoints(self._output, step)
        checkpoint = f"{self.settings.output_dir}/{name}"
        say(f"step {step}: saved {checkpoint}")
        if reason is None:
            return False
        self.snapshot.prove(checkpoint, step, reason)
        say(f"step {step}: stopped with a snapshot ({reason})")
        return True

    def _is_due(self, times: int) -> bool:
        step = self.state.step
        return step == self.max_steps or is_due(step, self.steps_per_epoch, times)

    def _epochs_done(self) -> float:
        return round(self.state.step / self.steps_per_epoch, 4)

    def _log(self, **values: float) -> None:
        where = {"step": self.state.step, "max_steps": self.max_steps, "epoch": self._epochs_done()}
        self.metrics.write("log", **where, **values)


def prepare(settings: Settings) -> Training:
    """Reads the data and the checkpoint, if any, and says what will be trained."""
    records = load_messages(Path(settings.train_data))
    eval_records = load_messages(Path(settings.eval_data)) if settings.eval_data else []
    if settings.resume_from_checkpoint is None:
        state = new_state(settings, records)
    else:
        state = load_checkpoint(Path(settings.resume_from_checkpoint))
        if state.model.shape != shape_of_settings(settings, len(state.vocabulary)):
            raise TrainingError("cannot resume: the checkpoint is of another base_model or context")
    train = fitting_examples(records, state.vocabulary, settings.sequence_len)
    evals = fitting_examples(eval_records, state.vocabulary, settings.sequence_len)
    if not train:
        raise TrainingError(
            f"no example of {settings.train_data} fits into {settings.sequence_len} tokens; raise sequence_len"
        )
    size, tokens = state.model.shape.size(), len(state.vocabulary)
    say(f"training {settings.base_model}: {size} parameters, vocabulary of {tokens} tokens")
    say_used("training", train, len(records), settings)
    say_used("evaluation", evals, len(eval_records), settings)
    return Training(settings, state, train=train, evals=evals)


def say_used(name: str, used: List[Example], found: int, settings: Settings) -> None:
    """Says how many examples are used and why others are not."""
    tokens = sum(len(example.ids) for example in used)
    text = f"{name} examples: {len(used)} used ({tokens} tokens)"
    if found > len(used):
        left_out = found - len(used)
        text += f", {left_out} left out (longer than {settings.sequence_len} tokens, or no answer)"
    say(text)


def tune_allocator() -> None:
    """Lets glibc keep memory between steps instead of returning it; elsewhere does nothing."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return
    mallopt(M_MMAP_THRESHOLD, 32 << 20)
    mallopt(M_TRIM_THRESHOLD, 1 << 30)


def main(arguments: List[str]) -> int:
    """Trains as a settings file says; the exit code."""
    if len(arguments) != 1:
        sys.stderr.write("usage: tiny_trainer.py SETTINGS.json\n")
        return 1
    tune_allocator()
    started = time.monotonic()
    try:
        settings = load_settings(Path(arguments[0]))
        threads = usable_threads()
        output = Path(settings.output_dir)
        output.mkdir(parents=True, exist_ok=True)
        drop_unfinished(output)
        training = prepare(settings)
        first = training.state.step
        if first:
            say(f"resumed after step {first} of {settings.resume_from_checkpoint}")
        say(
            f"epochs: {settings.epochs}, steps: {training.max_steps}"
            f" ({training.steps_per_epoch} an epoch, {settings.batch_size} examples each),"
            f" threads: {threads}"
        )
        if not training.run(threads):
            return 1
    except (TrainingError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    took = time.monotonic() - started
    say(f"done: step {training.state.step} after {took:.1f} s, model in {settings.output_dir}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
