#!/usr/bin/python3
"""A trainer named `axolotl` for the inside of a container: it has the plugin's callbacks, but learns nothing.

The end of the base model's name says what it does: `ok` trains, `hold` waits in its third step for a snapshot request,
`die` fails there. The plugin is the run's own, found as Axolotl finds it.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import sys
import time
from types import SimpleNamespace

STEPS = 6
HELD_AT = 3


def setting(name: str) -> str:
    """A value of `axolotl.yaml` that stands on one line; empty without it."""
    with open("axolotl.yaml", encoding="utf-8") as handle:
        found = re.search(rf"^{name}:\s*(.+?)\s*$", handle.read(), re.MULTILINE)
    return found.group(1).strip("\"'") if found else ""


class Training:
    """Steps from a checkpoint, or from nothing, to the end or to a snapshot."""

    def __init__(self, mode: str) -> None:
        plugin = importlib.import_module("overbrainer_metrics").OverbrainerMetricsPlugin()
        self.mode = mode
        self.callbacks = plugin.add_callbacks_pre_trainer(None, None)
        self.state = SimpleNamespace(global_step=0, max_steps=STEPS, epoch=0.0, is_world_process_zero=True)
        self.control = SimpleNamespace(should_save=False, should_training_stop=False)
        self.checkpoint = setting("resume_from_checkpoint")
        if self.checkpoint:
            with open(os.path.join(self.checkpoint, "trainer_state.json"), encoding="utf-8") as handle:
                self.state.global_step = json.load(handle)["global_step"]

    def call(self, name: str, **more: object) -> None:
        """Tell the callbacks."""
        for callback in self.callbacks:
            if hasattr(callback, name):
                getattr(callback, name)(SimpleNamespace(device="cpu"), self.state, self.control, **more)

    def run(self) -> None:
        """Train."""
        self.call("on_train_begin")
        while self.state.global_step < STEPS and not self.control.should_training_stop:
            self.step()
            if self.control.should_save:
                self.save(f"output/checkpoint-{self.state.global_step}")
                self.call("on_save")
        self.call("on_train_end")
        self.save("output")

    def step(self) -> None:
        """One step."""
        self.state.global_step += 1
        self.state.epoch = self.state.global_step / STEPS
        self.call("on_log", logs={"loss": 3.0 / self.state.global_step, "learning_rate": 1e-3})
        if self.state.global_step == HELD_AT:
            self.hold()
        self.call("on_step_end")

    def hold(self) -> None:
        """What is odd about this training."""
        if self.mode == "die":
            raise MemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")
        while self.mode == "hold" and not os.path.exists(os.environ["OVERBRAINER_SNAPSHOT"]):
            time.sleep(0.02)

    def save(self, directory: str) -> None:
        """A model, and the state of its training."""
        os.makedirs(directory, exist_ok=True)
        with open(os.path.join(directory, "adapter_config.json"), "w", encoding="utf-8") as handle:
            handle.write("{}")
        with open(os.path.join(directory, "trainer_state.json"), "w", encoding="utf-8") as handle:
            json.dump({"global_step": self.state.global_step}, handle)


def main() -> None:
    """Train, or merge."""
    print(f"axolotl {sys.argv[1]}; HF_TOKEN is {'set' if os.environ.get('HF_TOKEN') else 'not set'}", flush=True)
    if sys.argv[1] == "merge-lora":
        os.makedirs("output/merged", exist_ok=True)
        with open("output/merged/model.safetensors", "w", encoding="utf-8") as handle:
            handle.write("merged")
        return
    Training(setting("base_model").rpartition("-")[2]).run()


if __name__ == "__main__":
    main()
