"""What does each key of the configuration mean, and which values make sense for it?

One table for the editable fields, the JSON Schema and the written reference. Which keys exist, their types and which
must be there stand in `config.schema`, defaults in `config.settings`; bounds repeat those of the checks, a test
compares them at their ends.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bounds:
    """The numbers a key takes; an end that is None is open-ended, `*_open` leaves the end itself out."""

    low: float | None = None
    high: float | None = None
    low_open: bool = False
    high_open: bool = False

    def admits(self, value: float) -> bool:
        """Whether the number lies inside; NaN and infinity never do."""
        if not math.isfinite(value):
            return False
        if self.low is not None and (value < self.low or (self.low_open and value == self.low)):
            return False
        return self.high is None or value < self.high or (value == self.high and not self.high_open)

    def interval(self) -> str:
        """The bounds as `(0, 1]`, `>= 1` or `> 0`."""
        if self.high is None:
            return f"{'>' if self.low_open else '>='} {_number(self.low)}"
        left, right = "(" if self.low_open else "[", ")" if self.high_open else "]"
        return f"{left}{_number(self.low)}, {_number(self.high)}{right}"

    def refusal(self, *, is_integer: bool) -> str:
        """What is said of a number outside."""
        if self.high is None:
            return (
                f"must be greater than {_number(self.low)}"
                if self.low_open
                else f"must be at least {_number(self.low)}"
            )
        if is_integer:
            return f"must be between {_number(self.low)} and {_number(self.high)}"
        return f"must be in {self.interval()}"


def _number(value: float | None) -> str:
    return "" if value is None else str(int(value)) if value == int(value) else f"{value:g}"


@dataclass(frozen=True, slots=True)
class KeyFacts:
    """Meaning of a key, its bounds, and its range or default in words where those say more."""

    meaning: str
    bounds: Bounds | None = None
    range_words: str = ""
    default_words: str = ""


AT_LEAST_1 = Bounds(low=1)
_POSITIVE = Bounds(low=0, low_open=True)
_SHARE = Bounds(low=0, high=1, low_open=True)
_PRICE = Bounds(low=0)
_TEMPERATURE = Bounds(low=0, high=2)
_IMAGE = "letters, digits and `. _ / : @ -`"
_PATH = "letters, digits and `. _ / ~ -`, no `..`"
_CLIENT = KeyFacts(
    "SSH client: `builtin` needs no program, `openssh` uses the `ssh` command; `OVERBRAINER_SSH_CLIENT` wins over it"
)

_PIPELINE: Mapping[str, KeyFacts] = {
    "concurrency": KeyFacts(
        "parallel requests in `questions` (one subtopic each), `answers` and judging", Bounds(low=1, high=1024)
    ),
    "max_retries": KeyFacts(
        "retries of one request, and question batches without progress before a subtopic stops", Bounds(low=0)
    ),
    "dedup_threshold": KeyFacts("word overlap above which two questions are the same", _SHARE),
    "embedding_threshold": KeyFacts(
        "cosine similarity above which two questions are the same, with `roles.embedder`", _SHARE
    ),
    "question_batch_size": KeyFacts("questions asked for at once", AT_LEAST_1),
    "request_timeout_secs": KeyFacts("limit of one request, seconds", AT_LEAST_1),
    "eval_ratio": KeyFacts(
        "share of the usable answers kept for evaluation", Bounds(low=0, high=1, low_open=True, high_open=True)
    ),
    "seed": KeyFacts("decides which answers are kept for evaluation", Bounds(low=0), "0 to 2^63-1"),
    "include_system_prompt": KeyFacts("keep the system prompt in the dataset"),
    "max_cost_usd": KeyFacts(
        "a stage stops before its own cost passes this, USD; needs a known price", _POSITIVE, default_words="no cap"
    ),
}

_ROLE: Mapping[str, KeyFacts] = {
    "provider": KeyFacts("name of the provider that serves the model", range_words="a declared provider"),
    "model": KeyFacts("the model as the provider names it"),
    "reasoning": KeyFacts("ask the model to reason"),
    "max_tokens": KeyFacts("most tokens of one reply, reasoning included", AT_LEAST_1),
    "temperature": KeyFacts("sampling temperature", _TEMPERATURE, default_words="the provider's own"),
    "reasoning_effort": KeyFacts(
        "how much it reasons, with `reasoning = true`; `none` (protocol `openai`, without `reasoning`) asks it not to",
        default_words="`medium` on `openai` when reasoning",
    ),
    "thinking_budget": KeyFacts(
        "fixed thinking budget in tokens, protocol `anthropic` with `reasoning = true` only",
        Bounds(low=1024),
        "1024 up to `max_tokens`, that one left out",
        "adaptive thinking",
    ),
}

_TRAINING: Mapping[str, KeyFacts] = {
    "target": KeyFacts("name of the target the job runs on", range_words="a declared target"),
    "trainer": KeyFacts("what trains; `tiny` is the embedded trainer of the demo"),
    "base_model": KeyFacts(
        "Hugging Face repo, or a path on the target; with `tiny` one of `tiny-0.2m`, `tiny-0.5m`, `tiny-0.9m`"
    ),
    "adapter": KeyFacts("what is trained: LoRA weights, LoRA on a quantized model, or the whole model"),
    "epochs": KeyFacts("passes over the training data", AT_LEAST_1),
    "learning_rate": KeyFacts("peak learning rate", _POSITIVE),
    "lora_r": KeyFacts("LoRA rank", AT_LEAST_1),
    "lora_alpha": KeyFacts("LoRA scale", AT_LEAST_1),
    "lora_dropout": KeyFacts("LoRA dropout", Bounds(low=0, high=1, high_open=True)),
    "sequence_len": KeyFacts("longest example, tokens", AT_LEAST_1),
    "micro_batch_size": KeyFacts("examples per GPU per step", AT_LEAST_1),
    "gradient_accumulation_steps": KeyFacts("steps that make one update", AT_LEAST_1),
    "optimizer": KeyFacts("optimizer as Axolotl names it", range_words="not blank"),
    "lr_scheduler": KeyFacts("learning rate schedule as Axolotl names it", range_words="not blank"),
    "sample_packing": KeyFacts("several examples in one sequence"),
    "evals_per_epoch": KeyFacts("evaluations per epoch", AT_LEAST_1),
    "saves_per_epoch": KeyFacts("checkpoints per epoch", AT_LEAST_1),
    "merge": KeyFacts("merge the adapter into the model after training", range_words='not with `adapter = "full"`'),
    "hub_model_id": KeyFacts("deprecated: use `[hub] repo`; `overbrainer migrate` moves it", range_words="not blank"),
    "axolotl_extra": KeyFacts(
        "any other setting of Axolotl: tables are merged key by key, other values replace",
        range_words="no key that has a setting of its own or that overbrainer manages",
    ),
}

_LOCAL: Mapping[str, KeyFacts] = {
    "kind": KeyFacts("which kind of target it is", range_words="`local`"),
    "runtime": KeyFacts("run in a container, or in a virtual environment"),
    "engine": KeyFacts("container engine", range_words='`docker`, `podman`; only with `runtime = "docker"`'),
    "image": KeyFacts(
        'container image, only with `runtime = "docker"`', range_words=_IMAGE, default_words="the pinned Axolotl image"
    ),
    "gpus": KeyFacts(
        'GPUs of the container, only with `runtime = "docker"`',
        range_words="`all`, `none` or device indexes such as `0,1`",
    ),
    "venv": KeyFacts(
        'directory that holds `bin/axolotl`, only with `runtime = "native"`',
        range_words=_PATH,
        default_words="`axolotl` on `PATH`",
    ),
}

_RUNPOD_TARGET: Mapping[str, KeyFacts] = {
    "kind": KeyFacts("which kind of target it is", range_words="`runpod`"),
    "gpu_types": KeyFacts(
        'GPU types tried in order; `"auto"`: all in stock when the run starts, cheapest first',
        range_words='`"auto"` or a list that is not empty',
    ),
    "min_vram_gb": KeyFacts(
        'least memory of one GPU, GB; only with `gpu_types = "auto"`', AT_LEAST_1, default_words="any"
    ),
    "max_price_per_hour": KeyFacts(
        'highest price of one GPU, USD an hour; only with `gpu_types = "auto"`', _POSITIVE, default_words="any"
    ),
    "gpu_count": KeyFacts("GPUs of the pod", AT_LEAST_1),
    "image": KeyFacts("image of the pod", range_words=_IMAGE, default_words="the pinned Axolotl image"),
    "venv": KeyFacts("directory of the pod that holds `bin/axolotl`", range_words=f"absolute; {_PATH}"),
    "container_disk_gb": KeyFacts("disk of the container, GB", Bounds(low=20)),
    "max_hours": KeyFacts("the pod is deleted after this many hours", Bounds(low=0, high=720, low_open=True)),
    "max_cost_usd": KeyFacts(
        "snapshot and stop at 95 % of this, pod deleted at 100 %, USD", _POSITIVE, default_words="no cap"
    ),
    "boot_grace_minutes": KeyFacts("how long a pod may take to start its job, minutes", Bounds(low=5)),
    "retrieve_grace_minutes": KeyFacts("how long an ended pod is kept for its files, minutes", AT_LEAST_1),
    "data_center_ids": KeyFacts(
        'data centers tried; `"auto"`: those with a chosen GPU in stock, cheapest first',
        range_words='`"auto"` or a list of IDs in capitals, digits and `-`',
        default_words="any",
    ),
    "network_volume_id": KeyFacts(
        "network volume mounted at `/workspace/data`; needs exactly its data center in `data_center_ids`",
        range_words="letters and digits",
    ),
    "max_volume_gb": KeyFacts(
        "the network volume may grow to this size, GB; it stays that large and is billed",
        AT_LEAST_1,
        default_words="it does not grow",
    ),
    "ssh_client": _CLIENT,
}

FACTS: Mapping[str, Mapping[str, KeyFacts]] = {
    "": {
        "hf_token": KeyFacts("Hugging Face token; `HF_TOKEN` stands in for it"),
        "log": KeyFacts(
            "log filter such as `debug` or `overbrainer=debug`, read at start",
            default_words="`info` for overbrainer, `warn` for the rest",
        ),
    },
    "project": {"name": KeyFacts("name of the project, also of its Hub repo")},
    "topics": {
        "name": KeyFacts("name of the topic", range_words="unique"),
        "description": KeyFacts("what the topic covers"),
        "subtopics": KeyFacts("subtopics to generate", AT_LEAST_1),
        "questions_per_subtopic": KeyFacts("questions for each subtopic", AT_LEAST_1),
    },
    "providers": {
        "protocol": KeyFacts("`openai`: any compatible server; `anthropic`: Anthropic Messages"),
        "base_url": KeyFacts("address of the provider; `demo:` is the embedded one of the demo"),
        "api_key": KeyFacts(
            "key, or a `vault:` reference; the usual variable of OpenAI, Anthropic and OpenRouter stands in for it",
            default_words="requests carry none",
        ),
    },
    "roles": _ROLE,
    "pipeline": _PIPELINE,
    "training": _TRAINING,
    "targets.local": _LOCAL,
    "targets.ssh": {
        **_LOCAL,
        "kind": KeyFacts("which kind of target it is", range_words="`ssh`"),
        "host": KeyFacts("`user@host`, or an alias of `~/.ssh/config`"),
        "workdir": KeyFacts("directory of the runs, from the remote home unless absolute", range_words=_PATH),
        "ssh_client": _CLIENT,
    },
    "targets.runpod": _RUNPOD_TARGET,
    "export": {
        "after_training": KeyFacts("export at the end of each training"),
        "quantize": KeyFacts("type of the GGUF file; `F16` and `BF16` are not quantized"),
        "ollama_name": KeyFacts(
            "Ollama model made of each export when `ollama` is on `PATH`",
            range_words="`[host/][namespace/]model[:tag]`",
        ),
    },
    "hub": {
        "repo": KeyFacts(
            "repo that runs are pushed to",
            range_words="`NAMESPACE/NAME`",
            default_words="your user and the project's name",
        ),
        "private": KeyFacts("create the repo private"),
        "after_training": KeyFacts("push every run that succeeded"),
        "base_url": KeyFacts("address of the Hugging Face Hub", range_words="https, or http on a loopback host"),
    },
    "compare": {
        "parent_price_in": KeyFacts("USD per million input tokens of the parent", _PRICE),
        "parent_price_out": KeyFacts("USD per million output tokens of the parent; its cost needs both", _PRICE),
        "child_price_per_hour": KeyFacts(
            "USD per hour of the child's hardware", _PRICE, default_words="on Runpod the pod's price"
        ),
        "max_tokens": KeyFacts("most tokens of each answer of the child", AT_LEAST_1),
        "temperature": KeyFacts("sampling temperature of the child", _TEMPERATURE),
        "server_start_secs": KeyFacts("how long the child's server may take to start, seconds", Bounds(1, 3600)),
        "image": KeyFacts(
            "image of the pod of a compare on Runpod; needs glibc 2.38 or newer",
            range_words=_IMAGE,
            default_words="the target's image",
        ),
        "judge_orders": KeyFacts("`both` asks the judge twice, the answers swapped"),
        "server": KeyFacts("`release` is llama.cpp's own server, `builtin` the `xllamacpp` package"),
    },
    "metrics": {
        "listen": KeyFacts(
            "address of the Prometheus endpoint while a command works on the project",
            range_words="`IP:PORT` or `[IPv6]:PORT`; port `0` takes a free one",
            default_words="no endpoint",
        )
    },
    "runpod": {
        "api_key": KeyFacts("Runpod key, or a `vault:` reference; `RUNPOD_API_KEY` stands in for it"),
        "base_url": KeyFacts("address of the Runpod API", range_words="https, or http on a loopback host"),
    },
}
"""Facts by section and key; the empty section holds the root's own keys, targets have a section for each kind."""
