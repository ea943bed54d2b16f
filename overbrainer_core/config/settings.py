"""What are a project's settings, once read and checked? Plain values, defaults applied.

Built by `config.load`; environment-only keys (addresses, hosts, secrets) are in here too. A secret is kept in
`SecretText`, whose text never shows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

DEFAULT_IMAGE = (
    "axolotlai/axolotl:0.21.0-py3.12-cu130-2.14.1"
    "@sha256:d08da8a5dd2b3223a49fb25cdadd85bdf0c5acee9c5de223bf6ab10d0b511e14"
)
"""Image of a docker or podman job that names none, pinned by digest (Axolotl 0.21 for CUDA 13)."""

DEFAULT_POD_IMAGE = (
    "axolotlai/axolotl-cloud-term:0.21.0-py3.12-cu130-2.14.1"
    "@sha256:6dd02035f432a81725fc7405a525f6539a7bc9e40ac91702188170800b4415c1"
)
"""Image of a pod that names none, pinned by digest."""

RUNPOD_DEFAULTS: Mapping[str, Any] = MappingProxyType(
    {
        "gpu_types": (),
        "min_vram_gb": None,
        "max_price_per_hour": None,
        "gpu_count": 1,
        "image": DEFAULT_POD_IMAGE,
        "venv": "/workspace/axolotl-venv",
        "container_disk_gb": 50,
        "max_hours": 0.0,
        "max_cost_usd": None,
        "boot_grace_minutes": 30,
        "retrieve_grace_minutes": 60,
        "data_center_ids": (),
        "network_volume_id": None,
        "max_volume_gb": None,
        "ssh_client": "builtin",
    }
)
"""Values of a `runpod` target that sets nothing; `gpu_types` and `max_hours` are always set."""

TABLE_DEFAULTS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "export": {"after_training": False, "quantize": "Q4_K_M", "ollama_name": None},
        "hub": {"repo": None, "private": True, "after_training": False, "base_url": "https://huggingface.co"},
        "compare": {
            "parent_price_in": None,
            "parent_price_out": None,
            "child_price_per_hour": None,
            "max_tokens": 4096,
            "temperature": 0.0,
            "server_start_secs": 300,
            "image": None,
            "judge_orders": "one",
            "server": "release",
        },
        "metrics": {"listen": None},
        "runpod": {"api_key": None, "base_url": "https://api.runpod.io/v2"},
    }
)
"""Values of the tables in `Settings.tables` that set nothing."""


class SecretText:
    """A literal secret or a `vault:` reference; shows as `***` everywhere."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """The text itself: only for the header or the environment it is meant for."""
        return self._text

    @property
    def is_reference(self) -> bool:
        """Whether it names a secret in Vault."""
        return self._text.startswith("vault:")

    def __repr__(self) -> str:
        return "***"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SecretText) and other._text == self._text

    def __hash__(self) -> int:
        return hash(self._text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """A `[[topics]]` table."""

    name: str
    subtopics: int
    questions_per_subtopic: int
    description: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """A `[providers.<name>]` table with its environment-only keys."""

    name: str
    protocol: str
    base_url: str | None = None
    api_key: SecretText | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """One role of `[roles]`."""

    provider: str
    model: str
    reasoning: bool = False
    max_tokens: int = 16384
    temperature: float | None = None
    reasoning_effort: str | None = None
    thinking_budget: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Roles:
    """`[roles]`."""

    generator: Role
    parent: Role
    embedder: Role | None = None
    judge: Role | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline:
    """`[pipeline]`."""

    concurrency: int = 8
    max_retries: int = 5
    dedup_threshold: float = 0.8
    eval_ratio: float = 0.1
    seed: int = 42
    include_system_prompt: bool = False
    embedding_threshold: float = 0.9
    question_batch_size: int = 10
    request_timeout_secs: int = 600
    max_cost_usd: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """`[training]`; `given` names the keys that were set, in the file or the environment."""

    target: str
    base_model: str
    adapter: str
    trainer: str = "axolotl"
    epochs: int = 3
    learning_rate: float = 2e-4
    lora_r: int = 16
    lora_alpha: int = 32
    lora_dropout: float = 0.05
    sequence_len: int = 4096
    micro_batch_size: int = 2
    gradient_accumulation_steps: int = 4
    optimizer: str = "adamw_torch_fused"
    lr_scheduler: str = "cosine"
    sample_packing: bool = True
    evals_per_epoch: int = 4
    saves_per_epoch: int = 1
    merge: bool = False
    hub_model_id: str | None = None
    axolotl_extra: Mapping[str, Any] = field(default_factory=dict)
    given: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalTarget:
    """A target of kind `local`."""

    name: str
    runtime: str
    engine: str = "docker"
    image: str = DEFAULT_IMAGE
    gpus: str = "all"
    venv: str | None = None
    kind: str = "local"


@dataclass(frozen=True, slots=True, kw_only=True)
class SshTarget:
    """A target of kind `ssh`; `host` comes from the environment."""

    name: str
    runtime: str
    host: str | None = None
    workdir: str = "overbrainer"
    ssh_client: str = "builtin"
    engine: str = "docker"
    image: str = DEFAULT_IMAGE
    gpus: str = "all"
    venv: str | None = None
    kind: str = "ssh"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunpodTarget:
    """A target of kind `runpod`, its values as read: `gpu_types` and `data_center_ids` are `"auto"` or a tuple."""

    name: str
    values: Mapping[str, Any] = field(default_factory=dict)
    kind: str = "runpod"


Target = LocalTarget | SshTarget | RunpodTarget


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The effective settings of a project.

    `topics` in file order; `providers` and `targets` by name. `tables` holds the checked values of the tables that have
    no class of their own (`export`, `hub`, `compare`, `metrics`, `runpod`), defaults applied, each always there.
    `file_keys` are the dotted keys and tables that stand in the file, `standard_variables` the secrets (by dotted key)
    that come from a variable of other programs, such as `HF_TOKEN`.
    """

    project_name: str
    topics: tuple[Topic, ...]
    providers: Mapping[str, Provider]
    roles: Roles
    pipeline: Pipeline = field(default_factory=Pipeline)
    training: Training | None = None
    targets: Mapping[str, Target] = field(default_factory=dict)
    hf_token: SecretText | None = None
    tables: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    log: str | None = None
    file_keys: frozenset[str] = frozenset()
    standard_variables: Mapping[str, str] = field(default_factory=dict)

    def topic(self, name: str) -> Topic | None:
        """The topic of that name, if configured."""
        return next((topic for topic in self.topics if topic.name == name), None)
