"""Axolotl plugin: writes a training's progress to a file and saves a checkpoint when it is asked to.

Loaded by Axolotl as `overbrainer_metrics.OverbrainerMetricsPlugin`; Python 3.8 and the standard library only, so
that it can be imported where neither Axolotl nor torch is. Two variables switch it on:

    OVERBRAINER_METRICS    file that gets one JSON object a line: begin, log, eval, end
    OVERBRAINER_SNAPSHOT   file whose appearance asks for a checkpoint and the end of the training; the proof,
                           `snapshot.json`, is written beside it once the checkpoint is saved

Nothing here ever raises into the training: a metric that cannot be written is told once on stderr and dropped.
"""

import json
import math
import os
import sys
import time

try:
    from axolotl.integrations.base import BasePlugin
except ImportError:
    BasePlugin = object

try:
    from transformers import TrainerCallback
except ImportError:
    TrainerCallback = object

VALUES = ("loss", "eval_loss", "learning_rate", "grad_norm")
"""Values of a trainer log that are kept."""

EVAL_INTERVAL_S = 2.0
"""Seconds between two lines of one evaluation."""

REASONS = ("requested", "deadline", "cost", "disk")
"""Reasons of a snapshot; anything else in the request counts as the first."""


class MetricsCallback(TrainerCallback):
    """Appends the trainer's progress to the metrics file, on the main process only."""

    def __init__(self, path):
        self._path = path
        self._eval_step = 0
        self._eval_written = None
        self._told = False
        self._start = ""

    def on_train_begin(self, args, state, control, **kwargs):
        """The training starts."""
        self._eval_step = 0
        self._write(state, {"event": "begin", "time": time.time(), **_max_steps(state)})

    def on_log(self, args, state, control, logs=None, **kwargs):
        """The trainer logs a step or an evaluation."""
        line = {"event": "log", "time": time.time(), "step": _whole(getattr(state, "global_step", 0))}
        epoch = _finite(getattr(state, "epoch", None))
        if epoch is not None:
            line["epoch"] = epoch
        line.update(_max_steps(state))
        for name in VALUES:
            if logs and name in logs:
                line[name] = _finite(logs[name])
        self._write(state, line)

    def on_prediction_step(self, args, state, control, eval_dataloader=None, **kwargs):
        """A batch of an evaluation is done."""
        self._eval_step += 1
        now = time.monotonic()
        if self._eval_step > 1 and self._eval_written is not None and now - self._eval_written < EVAL_INTERVAL_S:
            return
        self._eval_written = now
        line = {"event": "eval", "time": time.time(), "step": self._eval_step}
        total = _length(eval_dataloader)
        if total is not None:
            line["total"] = total
        self._write(state, line)

    def on_evaluate(self, args, state, control, **kwargs):
        """An evaluation is over."""
        self._eval_step = 0

    def on_train_end(self, args, state, control, **kwargs):
        """The training loop is over."""
        self._write(state, {"event": "end", "time": time.time(), "step": _whole(getattr(state, "global_step", 0))})

    def _write(self, state, line):
        if not getattr(state, "is_world_process_zero", True):
            return
        try:
            directory = os.path.dirname(self._path)
            if directory:
                os.makedirs(directory, exist_ok=True)
            with open(self._path, "a", encoding="utf-8") as handle:
                handle.write(self._start + json.dumps(line, allow_nan=False) + "\n")
            self._start = ""
        except Exception as error:
            self._start = "\n"  # a full disk may have taken a part, which must not spoil the next line
            if not self._told:
                self._told = True
                sys.stderr.write("overbrainer: cannot write metrics: %s\n" % error)


class SnapshotCallback(TrainerCallback):
    """Saves a checkpoint and ends the training at the step after a request appeared."""

    def __init__(self, request):
        self._request = request
        self._proof = os.path.join(os.path.dirname(request), "snapshot.json")
        self._reason = None

    def on_step_end(self, args, state, control, **kwargs):
        """A step is done: look for a request, all processes with one answer."""
        try:
            if self._reason is None and self._is_asked(args, state) and not _is_last_step(state):
                self._reason = self._read_reason(state)
            if self._reason is not None:
                control.should_save = True
                control.should_training_stop = True
        except Exception as error:
            sys.stderr.write("overbrainer: cannot look for a snapshot request: %s\n" % error)
        return control

    def on_save(self, args, state, control, **kwargs):
        """A checkpoint is on disk: when it was asked for, write the proof."""
        if self._reason is None or not getattr(state, "is_world_process_zero", True):
            return
        try:
            self._write_proof(_whole(state.global_step))
        except Exception as error:
            sys.stderr.write("overbrainer: cannot write snapshot.json: %s\n" % error)

    def _is_asked(self, args, state):
        found = bool(getattr(state, "is_world_process_zero", True)) and os.path.exists(self._request)
        torch = sys.modules.get("torch")
        if torch is None:
            return found
        distributed = torch.distributed
        if not (distributed.is_available() and distributed.is_initialized()):
            return found
        answer = torch.tensor([1 if found else 0], dtype=torch.int32, device=getattr(args, "device", "cpu"))
        distributed.broadcast(answer, src=0)
        return bool(answer.item())

    def _read_reason(self, state):
        if not getattr(state, "is_world_process_zero", True):
            return REASONS[0]
        try:
            with open(self._request, encoding="utf-8") as handle:
                word = handle.read(64).strip()
        except Exception:
            return REASONS[0]
        return word if word in REASONS else REASONS[0]

    def _write_proof(self, step):
        proof = {"checkpoint": "output/checkpoint-%d" % step, "step": step, "time": time.time(), "reason": self._reason}
        temporary = self._proof + ".tmp"
        with open(temporary, "w", encoding="utf-8") as handle:
            handle.write(json.dumps(proof) + "\n")
            handle.flush()
            os.fsync(handle.fileno())
        os.replace(temporary, self._proof)


class OverbrainerMetricsPlugin(BasePlugin):
    """What Axolotl loads: callbacks for the trainer, as the environment asks for them."""

    def add_callbacks_pre_trainer(self, cfg, model):
        """The callbacks that the trainer is built with."""
        callbacks = []
        metrics = os.environ.get("OVERBRAINER_METRICS")
        if metrics:
            callbacks.append(MetricsCallback(metrics))
        snapshot = os.environ.get("OVERBRAINER_SNAPSHOT")
        if snapshot:
            callbacks.append(SnapshotCallback(snapshot))
        return callbacks


def _finite(value):
    """The value as a finite float, else None: JSON knows neither NaN nor infinity."""
    try:
        number = float(value)
    except Exception:
        return None
    return number if math.isfinite(number) else None


def _whole(value):
    try:
        return max(int(value), 0)
    except Exception:
        return 0


def _is_last_step(state):
    """Whether nothing is left to stop: the training ends as usual."""
    return 0 < _whole(getattr(state, "max_steps", 0)) <= state.global_step


def _max_steps(state):
    steps = _whole(getattr(state, "max_steps", 0))
    return {"max_steps": steps} if steps > 0 else {}


def _length(loader):
    """Batches of a loader; None where it has no length."""
    try:
        return len(loader)
    except Exception:
        return None
