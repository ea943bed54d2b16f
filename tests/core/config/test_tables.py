"""File and environment laid over each other: unknown, missing and wrongly typed keys."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from overbrainer_core.config.settings import RunpodTarget, Settings, SshTarget

Lines = Callable[..., list[str]]
Parse = Callable[..., Settings]
RUNPOD = '[targets.gpu]\nkind = "runpod"\ngpu_types = "auto"\nmax_hours = 6\n'


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[pipeline]\nconcurrency = 'x'", "pipeline.concurrency: has the wrong type, expected an integer"),
        ("[pipeline]\nconcurrency = true", "pipeline.concurrency: has the wrong type, expected an integer"),
        ("[pipeline]\nconcurrency = 2.5", "pipeline.concurrency: has the wrong type, expected an integer"),
        ("[pipeline]\nconcurrency = 2026-01-01", "pipeline.concurrency: has the wrong type, expected an integer"),
        ("[pipeline]\neval_ratio = false", "pipeline.eval_ratio: has the wrong type, expected a number"),
        ("[pipeline]\ninclude_system_prompt = 1",
         "pipeline.include_system_prompt: has the wrong type, expected true or false"),
        ("[[topics]]\nname = 5\nsubtopics = 1\nquestions_per_subtopic = 1",
         "topics[0].name: has the wrong type, expected a string"),
        ("[[topics]]\nname = 'a'\nsubtopics = 1\nquestions_per_subtopic = 1\n[[topics]]\nname = 'b'\nsubtopics = []\n"
         "questions_per_subtopic = 1", "topics[1].subtopics: has the wrong type, expected an integer"),
        ("[[topics]]\nname = 'a'\nsubtopics = 1",
         "`topics[0]`: missing field `questions_per_subtopic`, for example questions_per_subtopic = 30"),
        ("[targets]\na = 5", "targets.a: has the wrong type, expected a table"),
        ("[targets.a]\nkind = 'pod'", "targets.a.kind: invalid value, expected one of `local`, `ssh`, `runpod`"),
        ("[targets.a]\nkind = 5", "targets.a.kind: invalid value, expected one of `local`, `ssh`, `runpod`"),
        ("[targets.a]\nruntime = 'native'", "`targets.a`: missing field `kind`, for example kind = \"local\""),
        ("[targets.a]\nkind = 'local'", "`targets.a`: missing field `runtime`, for example runtime = \"native\""),
        ("[targets.a]\nkind = 'local'\nruntime = 'x'",
         "targets.a.runtime: invalid value, expected one of `docker`, `native`"),
        ("[targets.a]\nkind = 'local'\nruntime = 'native'\nworkdir = 'x'",
         "`targets.a`: unknown field `workdir`, expected one of `kind`, `runtime`, `engine`, `image`, `gpus`, `venv`"),
        ("[training]\ntarget = 'here'\nbase_model = 'm'\nadapter = 'dora'",
         "training.adapter: invalid value, expected one of `lora`, `qlora`, `full`"),
        ("[training]\nbase_model = 'm'\nadapter = 'lora'",
         "`training`: missing field `target`, for example target = \"local\""),
        ("[training]\ntarget = 'here'\nbase_model = 'm'\nadapter = 'lora'\naxolotl_extra = 5",
         "training.axolotl_extra: has the wrong type, expected a table"),
        ("[metrics]\nlisten = 'localhost:9464'",
         "metrics.listen: has the wrong type, expected an address such as 127.0.0.1:9464"),
        ("[runpod]\nregion = 'x'", "`runpod`: unknown field `region`, expected one of `api_key`, `base_url`"),
        ("[hub]\nprivat = true",
         "`hub`: unknown field `privat`, expected one of `repo`, `private`, `after_training`; did you mean `private`?"),
    ],
)  # fmt: skip
def test_a_type_problem_names_its_key(problems: Lines, text: str, line: str) -> None:
    assert problems(text) == [line]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("pipeline = 5", "pipeline: has the wrong type, expected a table"),
        ("training = [1]", "training: has the wrong type, expected a table"),
        ("providers = 5", "providers: has the wrong type, expected a table"),
        ("targets = 'x'", "targets: has the wrong type, expected a table"),
        ("roles = 5", "roles: has the wrong type, expected a table"),
        ("project = 5", "project: has the wrong type, expected a table"),
        ("topics = 5", "topics: has the wrong type, expected an array of tables"),
        ("topics = [5]", "topics[0]: has the wrong type, expected a table"),
        ("topics = {}", "topics: has the wrong type, expected an array of tables"),
    ],
)
def test_a_value_in_the_place_of_a_table_is_a_type_problem(problems: Lines, text: str, line: str) -> None:
    assert line in problems(base=text)
    assert line in problems(base=text, OVERBRAINER_PIPELINE__SEED="1", OVERBRAINER_ROLES__PARENT__MODEL="m")


def test_an_unknown_table_is_refused_with_the_near_miss(problems: Lines) -> None:
    (line,) = problems("[trainning]\n")
    assert line.startswith("unknown field `trainning`, expected one of `project`, `topics`, ")
    assert line.endswith("; did you mean `training`?")
    assert "runpod" not in line
    assert "hf_token" not in line


def test_an_old_gpu_type_shows_the_new_key(problems: Lines) -> None:
    (line,) = problems("[targets.gpu]\nkind = 'runpod'\ngpu_type = 'hidden'\nmax_hours = 6\n")
    assert line.startswith("`targets.gpu`: unknown field `gpu_type`, expected one of ")
    assert "`gpu_types`" in line
    assert "hidden" not in line


def test_every_missing_table_is_told_with_an_example(problems: Lines) -> None:
    assert problems(base="") == [
        'missing field `project`, for example [project] with name = "my_project"',
        "missing field `roles`, for example [roles] with generator = {...} and parent = {...}",
    ]


def test_every_missing_key_is_told_with_an_example(problems: Lines) -> None:
    assert problems(base="[project]\n[roles]\n[roles.parent]\nmodel = 'm'\n") == [
        '`project`: missing field `name`, for example name = "my_project"',
        '`roles`: missing field `generator`, for example generator = '
        '{ provider = "openrouter", model = "qwen/qwen3-235b-a22b" }',
        '`roles.parent`: missing field `provider`, for example provider = "openrouter"',
    ]  # fmt: skip


def test_an_unknown_role_is_told_in_place_of_a_missing_one(problems: Lines) -> None:
    text = "[project]\nname = 'x'\n[roles]\ngenerator = {}\nparnet = {}\n"
    assert problems(base=text)[0] == (
        "`roles`: unknown field `parnet`, expected one of `generator`, `parent`, `embedder`, `judge`; "
        "did you mean `parent`?"
    )


def test_several_type_problems_are_told_at_once(problems: Lines) -> None:
    assert len(problems("[pipeline]\nseed = true\nmax_retries = 'x'\n[export]\nafter_training = 2\n")) == 3


def test_forms_of_numbers_are_read(parse: Parse) -> None:
    settings = parse("[pipeline]\nconcurrency = '2'\nmax_retries = 3.0\neval_ratio = '0.5'\nmax_cost_usd = 2\n")
    assert (settings.pipeline.concurrency, settings.pipeline.max_retries) == (2, 3)
    assert settings.pipeline.eval_ratio == 0.5
    assert repr(settings.pipeline.max_cost_usd) == "2.0"


def test_topics_may_be_an_inline_array(parse: Parse, base: str) -> None:
    text = 'topics = [{ name = "any text!", subtopics = 2, questions_per_subtopic = 3 }]\n'
    assert parse(base=text + base).topics[0].name == "any text!"


ENVIRONMENT_ONLY = {
    "providers.open.base_url": "[providers.open]\nprotocol = 'openai'\nbase_url = 'hidden'",
    "providers.open.api_key": "[providers.open]\nprotocol = 'openai'\napi_key = 'hidden'",
    "targets.there.host": "[targets.there]\nkind = 'local'\nruntime = 'native'\nhost = 'hidden'",
    "runpod.api_key": "[runpod]\napi_key = 'hidden'",
    "runpod.base_url": "[runpod]\nbase_url = 'hidden'",
    "hub.base_url": "[hub]\nbase_url = 'hidden'",
    "hf_token": "hf_token = 'hidden'",
    "log": "log = 5",
}


@pytest.mark.parametrize("key", ENVIRONMENT_ONLY)
def test_a_key_of_the_environment_is_refused_in_the_file(problems: Lines, base: str, key: str) -> None:
    text = ENVIRONMENT_ONLY[key]
    text = base.replace('[providers.open]\nprotocol = "openai"', text) if "providers" in text else text + "\n" + base
    assert problems(base=text) == [f"{key}: must be set through env, not in overbrainer.toml"]


def test_keys_of_the_environment_are_reported_together_before_all_else(problems: Lines, base: str) -> None:
    text = f"hf_token = 1\nlog = 'x'\n{base}[runpod]\nbase_url = 'x'\n[pipeline]\nseed = true\n"
    assert problems(base=text) == [
        "runpod.base_url: must be set through env, not in overbrainer.toml",
        "hf_token: must be set through env, not in overbrainer.toml",
        "log: must be set through env, not in overbrainer.toml",
        "pipeline.seed: has the wrong type, expected an integer",
    ]


def test_an_empty_runpod_table_is_fine(problems: Lines) -> None:
    assert problems("[runpod]\n") == []


# Variables


def test_variables_set_keys_of_every_table(parse: Parse) -> None:
    settings = parse(
        RUNPOD + "[targets.lab]\nkind = 'ssh'\nruntime = 'docker'\n",
        OVERBRAINER_PROJECT__NAME="other",
        OVERBRAINER_PROVIDERS__OPEN__BASE_URL="http://localhost:1",
        overbrainer_providers__open__api_key="0123",
        OVERBRAINER_ROLES__PARENT__REASONING="off",
        OVERBRAINER_PIPELINE__SEED=str(2**64 - 1),
        OVERBRAINER_TARGETS__LAB__HOST="me@lab",
        OVERBRAINER_TARGETS__GPU__GPU_TYPES="NVIDIA A40, NVIDIA L40S",
        OVERBRAINER_TARGETS__GPU__MAX_HOURS=" 2.5 ",
        OVERBRAINER_HUB__BASE_URL="http://127.0.0.1:9",
        OVERBRAINER_RUNPOD__API_KEY="true",
        OVERBRAINER_HF_TOKEN="",
        OVERBRAINER_LOG="debug",
        OVERBRAINER_EXPORT__QUANTIZE="F16",
    )
    lab, pod = settings.targets["lab"], settings.targets["gpu"]
    assert isinstance(lab, SshTarget)
    assert isinstance(pod, RunpodTarget)
    assert settings.project_name == "other"
    assert settings.providers["open"].base_url == "http://localhost:1"
    key = settings.providers["open"].api_key
    assert key is not None
    assert key.reveal() == "0123"
    assert settings.roles.parent.reasoning is False
    assert settings.pipeline.seed == 2**64 - 1
    assert lab.host == "me@lab"
    assert pod.values["gpu_types"] == ("NVIDIA A40", "NVIDIA L40S")
    assert pod.values["max_hours"] == 2.5
    assert settings.tables["hub"]["base_url"] == "http://127.0.0.1:9"
    assert settings.tables["runpod"]["api_key"].reveal() == "true"
    assert settings.hf_token is not None
    assert settings.hf_token.reveal() == ""
    assert settings.log == "debug"
    assert settings.tables["export"]["quantize"] == "F16"


def test_tables_may_come_whole_from_the_environment(parse: Parse) -> None:
    settings = parse(
        OVERBRAINER_PROVIDERS__X__PROTOCOL="anthropic",
        OVERBRAINER_TARGETS__BOX__KIND="ssh",
        OVERBRAINER_TARGETS__BOX__RUNTIME="docker",
        OVERBRAINER_ROLES__JUDGE__PROVIDER="x",
        OVERBRAINER_ROLES__JUDGE__MODEL="m",
    )
    assert settings.providers["x"].protocol == "anthropic"
    assert settings.targets["box"].kind == "ssh"
    assert settings.roles.judge is not None


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("OVERBRAINER_PIPELINE__CONCURRENCY", "hidden",
         "pipeline.concurrency: has the wrong type, expected an integer"),
        ("OVERBRAINER_PIPELINE__CONCURRENCY", "-1", "pipeline.concurrency: has the wrong type, expected an integer"),
        ("OVERBRAINER_PIPELINE__EVAL_RATIO", "", "pipeline.eval_ratio: has the wrong type, expected a number"),
        ("OVERBRAINER_PIPELINE__EVAL_RATIO", "nan", "pipeline.eval_ratio: must be in (0, 1)"),
        ("OVERBRAINER_ROLES__PARENT__REASONING", "hidden",
         "roles.parent.reasoning: has the wrong type, expected true or false"),
        ("OVERBRAINER_EXPORT__QUANTIZE", "f16",
         "export.quantize: invalid value, expected one of `Q4_K_M`, `Q4_K_S`, `Q5_K_M`, `Q5_K_S`, `Q6_K`, `Q8_0`, "
         "`Q3_K_M`, `Q2_K`, `F16`, `BF16`"),
        ("OVERBRAINER_METRICS__LISTEN", "9464",
         "metrics.listen: has the wrong type, expected an address such as 127.0.0.1:9464"),
        ("OVERBRAINER_PIPELINE", "hidden", "pipeline: has the wrong type, expected a table"),
        ("OVERBRAINER_PROVIDERS__OPEN", "hidden", "providers.open: has the wrong type, expected a table"),
        ("OVERBRAINER_HF_TOKEN__X", "hidden", "hf_token: has the wrong type, expected a string"),
        ("OVERBRAINER_PIPELINE__SEED__X", "1", "pipeline.seed: has the wrong type, expected an integer"),
        ("OVERBRAINER_TOPICS", "hidden",
         "topics: has the wrong type, expected an array of tables, which only overbrainer.toml can hold"),
        ("OVERBRAINER_TOPICS__0__NAME", "hidden",
         "topics: has the wrong type, expected an array of tables, which only overbrainer.toml can hold"),
        ("OVERBRAINER_TRAINING__AXOLOTL_EXTRA", "hidden",
         "training.axolotl_extra: has the wrong type, expected a table"),
        ("OVERBRAINER_TRAINING__AXOLOTL_EXTRA__", "hidden",
         "training.axolotl_extra: OVERBRAINER_TRAINING__AXOLOTL_EXTRA__ names no key in it"),
        ("OVERBRAINER_TRAINING__AXOLOTL_EXTRA__A____B", "hidden",
         "training.axolotl_extra: OVERBRAINER_TRAINING__AXOLOTL_EXTRA__A____B names no key in it"),
        ("OVERBRAINER_PROVIDERS__X__API_KEY", "hidden",
         "`providers.x`: missing field `protocol`, for example protocol = \"openai\""),
        ("OVERBRAINER_PIPELINE__CONCURENCY", "5",
         "`pipeline`: unknown field `concurency`, expected one of `concurrency`, `max_retries`, `dedup_threshold`, "
         "`embedding_threshold`, `question_batch_size`, `request_timeout_secs`, `eval_ratio`, `seed`, "
         "`include_system_prompt`, `max_cost_usd`; did you mean `concurrency`? "
         "(set by OVERBRAINER_PIPELINE__CONCURENCY)"),
        ("OVERBRAINER_ROLES__STUDENT__MODEL", "hidden",
         "`roles`: unknown field `student`, expected one of `generator`, `parent`, `embedder`, `judge` "
         "(set by OVERBRAINER_ROLES__STUDENT__MODEL)"),
        ("OVERBRAINER_TARGETS__HERE__HOST", "hidden",
         "`targets.here`: unknown field `host`, expected one of `kind`, `runtime`, `engine`, `image`, `gpus`, `venv` "
         "(set by OVERBRAINER_TARGETS__HERE__HOST)"),
    ],
)  # fmt: skip
def test_a_variable_that_cannot_be_used_is_told_without_its_text(
    problems: Lines, name: str, text: str, line: str
) -> None:
    found = problems("[export]\n", **{name: text})
    assert found == [line]
    assert "hidden" not in found[0]


@pytest.mark.parametrize("name", ["OVERBRAINER_FOO", "overbrainer_foo", "OVERBRAINER_", "OVERBRAINER___X"])
def test_a_variable_that_names_no_key_is_an_error(problems: Lines, name: str) -> None:
    (line,) = problems(**{name: "hidden"})
    assert line.startswith("unknown field `")
    assert line.endswith(f" (set by {name})")


def test_extra_settings_are_merged_key_by_key(parse: Parse) -> None:
    settings = parse(
        "[training]\ntarget = 'here'\nbase_model = 'm'\nadapter = 'lora'\n[training.axolotl_extra]\n"
        "weight_decay = 0.1\n"
        "flag = '7'\nday = 2026-01-02\n[training.axolotl_extra.special_tokens]\npad_token = 'p'\n",
        OVERBRAINER_TRAINING__AXOLOTL_EXTRA__WARMUP_STEPS="10",
        OVERBRAINER_TRAINING__AXOLOTL_EXTRA__WEIGHT_DECAY="1e-2",
        OVERBRAINER_TRAINING__AXOLOTL_EXTRA__FLAG="7",
        OVERBRAINER_TRAINING__AXOLOTL_EXTRA__SPECIAL_TOKENS__EOS_TOKEN="</s>",
        OVERBRAINER_TRAINING__AXOLOTL_EXTRA__DAY__OF__YEAR="0123",
    )
    assert settings.training is not None
    assert settings.training.axolotl_extra == {
        "weight_decay": 0.01,
        "flag": "7",
        "day": {"of": {"year": "0123"}},
        "special_tokens": {"pad_token": "p", "eos_token": "</s>"},
        "warmup_steps": 10,
    }


def test_dates_of_extra_settings_become_text(parse: Parse) -> None:
    settings = parse(
        "[training]\ntarget = 'here'\nbase_model = 'm'\nadapter = 'lora'\n"
        "axolotl_extra = { a = [2026-01-02], b = 07:30:00 }"
    )
    assert settings.training is not None
    assert settings.training.axolotl_extra == {"a": ["2026-01-02"], "b": "07:30:00"}


def test_keys_of_the_file_are_kept_for_the_origin_of_values(parse: Parse) -> None:
    settings = parse(
        '[[topics]]\nname = "a"\nsubtopics = 1\nquestions_per_subtopic = 1\n[metrics]\n',
        OVERBRAINER_PIPELINE__SEED="1",
    )
    assert {"topics.a.subtopics", "metrics", "roles.parent.reasoning", "targets.here.kind"} <= settings.file_keys
    assert "pipeline.seed" not in settings.file_keys
