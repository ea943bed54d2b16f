"""Model directories and GGUF files: what their own libraries read, and llama.cpp's answers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from tests.peers.llama_server import require_llama_server, serve_gguf

PLACES = {
    "Peru": "Lima",
    "Iceland": "Reykjavik",
    "Kenya": "Nairobi",
    "Japan": "Tokyo",
    "Chile": "Santiago",
    "Ghana": "Accra",
    "Norway": "Oslo",
    "Oman": "Muscat",
    "Nepal": "Kathmandu",
    "Cuba": "Havana",
}
QUESTIONS = (
    "What is the capital of {}?",
    "Name the seat of government in {}.",
    "Which city hosts the parliament of {}?",
    "Where does {} have its capital?",
    "Tell me the capital of {}, please!",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trained:
    """A model that knows its few facts, and the directory that holds it."""

    model: Any
    vocabulary: Any
    directory: Path
    prompts: list[str]


def conversation(question: str, place: str) -> list[dict[str, str]]:
    """A question with its answer, reasoning included."""
    text = f"<think>\nThis asks for {place}.\n</think>\n\nThe capital of {place} is {PLACES[place]}."
    return [{"role": "user", "content": question}, {"role": "assistant", "content": text}]


@pytest.fixture(scope="module")
def trained(tiny: Any, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """A short training on fifty questions."""
    asked = [(question.format(place), place) for place in PLACES for question in QUESTIONS]
    records = [conversation(question, place) for question, place in asked]
    vocabulary = tiny.tokenizer.learn_vocabulary(tiny.tokenizer.chat_texts(records))
    shape = tiny.model.Shape(vocab=len(vocabulary), hidden=32, layers=2, heads=4, kv_heads=2, inner=64, context=128)
    model = tiny.model.initial_model(shape, 3)
    optimizer = tiny.model.AdamW(shape)
    examples = [tiny.model.Example.of(*tiny.tokenizer.chat_tokens(record, vocabulary)) for record in records]
    workers = tiny.trainer.Workers(model, 1)
    step, steps = 0, 120
    while step < steps:
        lengths = [len(example.ids) for example in examples]
        for batch in tiny.model.epoch_batches(lengths, 16, 1, step):
            step += 1
            parts = tiny.model.micro_batches([examples[place] for place in batch], 16)
            _, gradient = workers.gradient([tiny.model.pad(part) for part in parts])
            tiny.model.clip(gradient)
            rate = tiny.model.learning_rate(1e-2, min(step, steps), steps)
            optimizer.update(model.flat, gradient, rate=rate, step=step)
    directory = tmp_path_factory.mktemp("trained")
    tiny.files.write_model(directory, model, vocabulary)
    return Trained(
        model=model,
        vocabulary=vocabulary,
        directory=directory,
        prompts=[question for question, _ in asked],
    )


def own_answer(tiny: Any, trained: Trained, question: str) -> str:
    """The greedy answer computed with NumPy."""
    messages = [{"role": "user", "content": question}]
    prompt = tiny.tokenizer.prompt_tokens(messages, trained.vocabulary)
    stop = tiny.tokenizer.TURN_END
    ids = tiny.model.generate(trained.model, prompt, limit=48, stop=stop)
    return str(trained.vocabulary.decode(ids))


@pytest.fixture(scope="module")
def own_answers(tiny: Any, trained: Trained) -> list[str]:
    """NumPy's answer to every question."""
    return [own_answer(tiny, trained, question) for question in trained.prompts]


def test_the_model_has_learnt_something(own_answers: list[str]) -> None:
    right = sum(
        city in answer
        for city, answer in zip([city for city in PLACES.values() for _ in QUESTIONS], own_answers, strict=True)
    )
    assert right >= 45
    assert all(answer.startswith("<think>\n") for answer in own_answers)


@pytest.mark.parametrize(("precision", "fewest"), [("F32", 50), ("F16", 50), ("Q8_0", 45)])
def test_llama_cpp_answers_as_numpy_does(
    tiny: Any,
    trained: Trained,
    own_answers: list[str],
    tmp_path: Path,
    *,
    precision: str,
    fewest: int,
) -> None:
    require_llama_server()
    path = tmp_path / "model.gguf"
    tiny.files.write_gguf(trained.directory, path, precision)
    same = 0
    with serve_gguf(path) as url, httpx.Client(base_url=url, trust_env=False) as client:
        for question, expected in zip(trained.prompts, own_answers, strict=True):
            messages = [{"role": "user", "content": question}]
            body = {"messages": messages, "temperature": 0, "max_tokens": 48}
            answer = client.post("/v1/chat/completions", json=body).json()
            same += answer["choices"][0]["message"]["content"] == expected
    assert same >= fewest


def test_a_directory_read_back_is_the_same_model(tiny: Any, trained: Trained) -> None:
    model, vocabulary = tiny.files.read_model(trained.directory)
    assert model.shape == trained.model.shape
    assert vocabulary == trained.vocabulary
    np.testing.assert_array_equal(model.flat, trained.model.flat)


def test_the_directory_holds_these_files_and_no_leftovers(trained: Trained) -> None:
    assert sorted(os.listdir(trained.directory)) == [
        "config.json",
        "generation_config.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer.model",
        "tokenizer_config.json",
    ]


def test_safetensors_reads_the_weights_under_their_names(trained: Trained) -> None:
    safetensors = pytest.importorskip("safetensors.numpy")
    tensors = safetensors.load_file(trained.directory / "model.safetensors")
    vocab = len(trained.vocabulary)
    assert "lm_head.weight" not in tensors
    assert len(tensors) == 2 + 2 * 9
    expected = {
        "model.embed_tokens.weight": (vocab, 32),
        "model.norm.weight": (32,),
        "model.layers.1.input_layernorm.weight": (32,),
        "model.layers.1.post_attention_layernorm.weight": (32,),
        "model.layers.0.self_attn.q_proj.weight": (32, 32),
        "model.layers.0.self_attn.k_proj.weight": (16, 32),
        "model.layers.0.self_attn.v_proj.weight": (16, 32),
        "model.layers.0.self_attn.o_proj.weight": (32, 32),
        "model.layers.0.mlp.gate_proj.weight": (64, 32),
        "model.layers.0.mlp.up_proj.weight": (64, 32),
        "model.layers.0.mlp.down_proj.weight": (32, 64),
    }
    assert {name: tensors[name].shape for name in expected} == expected
    assert {str(tensor.dtype) for tensor in tensors.values()} == {"float32"}
    down = trained.model.tensors["0.down"]
    np.testing.assert_array_equal(tensors["model.layers.0.mlp.down_proj.weight"], down.T)


def hub_scores(directory: Path, ids: list[int]) -> Any:
    """Last scores by the Llama formulas on Hugging Face's names, pairs turned in halves."""
    safetensors = pytest.importorskip("safetensors.numpy")
    weights = {
        name.removeprefix("model."): tensor.astype(np.float64)
        for name, tensor in safetensors.load_file(directory / "model.safetensors").items()
    }
    config = json.loads((directory / "config.json").read_text())
    size, heads, kv = (
        config["head_dim"],
        config["num_attention_heads"],
        config["num_key_value_heads"],
    )

    def norm(x: Any, name: str) -> Any:
        length = np.sqrt((x * x).mean(-1, keepdims=True) + config["rms_norm_eps"])
        return x / length * weights[f"{name}.weight"]

    def turned(x: Any) -> Any:
        steps = config["rope_theta"] ** (-np.arange(0, size, 2) / size)
        angles = np.arange(len(ids))[:, None] * np.concatenate([steps, steps])
        rotated = np.concatenate([-x[..., size // 2 :], x[..., : size // 2]], -1)
        return x * np.cos(angles) + rotated * np.sin(angles)

    x = weights["embed_tokens.weight"][ids]
    for layer in range(config["num_hidden_layers"]):
        part = f"layers.{layer}"
        h = norm(x, f"{part}.input_layernorm")
        q, k, v = (h @ weights[f"{part}.self_attn.{name}_proj.weight"].T for name in "qkv")
        mixed = []
        for head in range(heads):
            own = slice(head * size, (head + 1) * size)
            group = head // (heads // kv)
            shared = slice(group * size, (group + 1) * size)
            scores = turned(q[:, own]) @ turned(k[:, shared]).T / np.sqrt(size)
            scores[np.triu_indices(len(ids), 1)] = -np.inf
            probabilities = np.exp(scores - scores.max(-1, keepdims=True))
            mixed.append(probabilities / probabilities.sum(-1, keepdims=True) @ v[:, shared])
        x = x + np.concatenate(mixed, -1) @ weights[f"{part}.self_attn.o_proj.weight"].T
        h = norm(x, f"{part}.post_attention_layernorm")
        gate, up = (h @ weights[f"{part}.mlp.{name}_proj.weight"].T for name in ("gate", "up"))
        x = x + (gate / (1 + np.exp(-gate)) * up) @ weights[f"{part}.mlp.down_proj.weight"].T
    return norm(x[-1], "norm") @ weights["embed_tokens.weight"].T


def test_the_written_weights_compute_the_same_by_hugging_faces_formulas(tiny: Any, trained: Trained) -> None:
    messages = [{"role": "user", "content": trained.prompts[0]}]
    ids = tiny.tokenizer.prompt_tokens(messages, trained.vocabulary)
    np.testing.assert_allclose(
        tiny.model.next_logits(trained.model, ids), hub_scores(trained.directory, ids), atol=1e-4
    )


def test_the_configuration_names_a_tied_llama(trained: Trained) -> None:
    config = json.loads((trained.directory / "config.json").read_text())
    expected = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "tie_word_embeddings": True,
        "head_dim": 8,
        "rope_theta": 10000.0,
        "bos_token_id": 1,
        "eos_token_id": 4,
        "max_position_embeddings": 128,
        "vocab_size": len(trained.vocabulary),
    }
    assert {key: config[key] for key in expected} == expected


def test_the_tokenizer_settings_add_nothing_to_a_text(trained: Trained) -> None:
    settings = json.loads((trained.directory / "tokenizer_config.json").read_text())
    assert settings["tokenizer_class"] == "LlamaTokenizer"
    assert settings["add_prefix_space"] is False
    assert settings["add_bos_token"] is False
    assert settings["eos_token"] == "<|im_end|>"
    assert settings["added_tokens_decoder"]["3"]["content"] == "<|im_start|>"
    assert "<|im_start|>" in settings["chat_template"]


def test_the_sentencepiece_file_says_what_kind_of_model_it_is(tiny: Any, trained: Trained) -> None:
    content = (trained.directory / "tokenizer.model").read_bytes()
    parts = dict(tiny.files.protobuf_fields(content))
    numbers = {field: tiny.files.read_varint(octets, 0)[0] for field, octets in tiny.files.protobuf_fields(parts[2])}
    bpe, pad = 2, 2**64 - 1
    assert numbers == {3: bpe, 4: len(trained.vocabulary), 35: 1, 40: 0, 41: 1, 42: 2, 43: pad}
    normalizer = dict(tiny.files.protobuf_fields(parts[3]))
    assert normalizer == {1: b"identity", 3: b"\0", 4: b"\0", 5: b"\1"}


def gguf_reader(path: Path) -> Any:
    """The file in its own library."""
    gguf = pytest.importorskip("gguf")
    return gguf.GGUFReader(path)


@pytest.mark.parametrize(("precision", "number", "matrix"), [("F32", 0, "F32"), ("F16", 1, "F16"), ("Q8_0", 7, "Q8_0")])
def test_a_gguf_file_has_the_keys_and_types_of_its_precision(
    tiny: Any, trained: Trained, tmp_path: Path, *, precision: str, number: int, matrix: str
) -> None:
    path = tmp_path / "model.gguf"
    tiny.files.write_gguf(trained.directory, path, precision, "demo")
    assert os.listdir(tmp_path) == ["model.gguf"]
    reader = gguf_reader(path)
    found = {name: field.contents() for name, field in reader.fields.items()}
    expected = {
        "general.architecture": "llama",
        "general.type": "model",
        "general.name": "demo",
        "general.file_type": number,
        "general.quantization_version": 2,
        "llama.vocab_size": len(trained.vocabulary),
        "llama.context_length": 128,
        "llama.embedding_length": 32,
        "llama.block_count": 2,
        "llama.feed_forward_length": 64,
        "llama.rope.dimension_count": 8,
        "llama.rope.freq_base": 10000.0,
        "llama.attention.head_count": 4,
        "llama.attention.head_count_kv": 2,
        "llama.attention.layer_norm_rms_epsilon": pytest.approx(1e-5),
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.pre": "default",
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 4,
        "tokenizer.ggml.unknown_token_id": 0,
        "tokenizer.ggml.padding_token_id": 2,
        "tokenizer.ggml.add_bos_token": False,
        "tokenizer.ggml.add_eos_token": False,
        "tokenizer.ggml.add_space_prefix": False,
        "tokenizer.chat_template": tiny.files.CHAT_TEMPLATE,
    }
    assert {key: found.get(key) for key in expected} == expected
    types = {tensor.name: tensor.tensor_type.name for tensor in reader.tensors}
    assert types["blk.1.attn_q.weight"] == types["token_embd.weight"] == matrix
    assert types["blk.1.ffn_norm.weight"] == types["output_norm.weight"] == "F32"
    assert "output.weight" not in types
    assert len(types) == 2 + 2 * 9


def test_rows_of_queries_and_keys_are_turned_into_pairs(tiny: Any, trained: Trained, tmp_path: Path) -> None:
    safetensors = pytest.importorskip("safetensors.numpy")
    path = tmp_path / "model.gguf"
    tiny.files.write_gguf(trained.directory, path, "F32")
    written = {tensor.name: tensor.data for tensor in gguf_reader(path).tensors}
    hub = safetensors.load_file(trained.directory / "model.safetensors")
    for theirs, ours, heads in (("q_proj", "attn_q", 4), ("k_proj", "attn_k", 2)):
        rows = hub[f"model.layers.1.self_attn.{theirs}.weight"]
        turned = rows.reshape(heads, 2, -1, 32).swapaxes(1, 2).reshape(rows.shape)
        np.testing.assert_array_equal(written[f"blk.1.{ours}.weight"], turned)
    np.testing.assert_array_equal(written["blk.1.attn_v.weight"], hub["model.layers.1.self_attn.v_proj.weight"])


def test_rows_that_fit_no_block_stay_sixteen_bits_wide(tiny: Any, tmp_path: Path) -> None:
    vocabulary = tiny.tokenizer.learn_vocabulary(["one two", "one two"])
    shape = tiny.model.Shape(vocab=len(vocabulary), hidden=16, layers=1, heads=4, kv_heads=2, inner=32, context=16)
    tiny.files.write_model(tmp_path / "odd", tiny.model.initial_model(shape, 1), vocabulary)
    tiny.files.write_gguf(tmp_path / "odd", tmp_path / "odd.gguf", "Q8_0")
    types = {tensor.name: tensor.tensor_type.name for tensor in gguf_reader(tmp_path / "odd.gguf").tensors}
    assert types["token_embd.weight"] == "F16"
    assert types["blk.0.ffn_down.weight"] == "Q8_0"


def test_a_file_is_replaced_whole(tiny: Any, tmp_path: Path) -> None:
    path = tmp_path / "proof.json"
    tiny.files.write_file(path, b"old")
    tiny.files.write_file(path, b"new")
    assert path.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["proof.json"]


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("config.json", None, "No such file or directory"),
        ("config.json", b"{}", "not a file of a tiny model"),
        ("tokenizer.model", b"\x0a\x05\x0a\x03abc", "not a file of a tiny model"),
        ("tokenizer.model", b"\x0a\xff", "not a file of a tiny model"),
        ("model.safetensors", b"1234", "not a file of a tiny model"),
    ],
)
def test_a_broken_directory_is_refused_with_the_file_and_why(
    tiny: Any, trained: Trained, tmp_path: Path, *, name: str, content: bytes | None, reason: str
) -> None:
    directory = tmp_path / "broken"
    tiny.files.write_model(directory, trained.model, trained.vocabulary)
    if content is None:
        (directory / name).unlink()
    else:
        (directory / name).write_bytes(content)
    with pytest.raises(tiny.files.ModelFilesError) as caught:
        tiny.files.read_model(directory)
    assert str(caught.value) == f"cannot read {directory / name}: {reason}"


def test_a_vocabulary_of_another_model_is_refused(tiny: Any, trained: Trained, tmp_path: Path) -> None:
    other = tiny.tokenizer.learn_vocabulary(["one two", "one two"])
    tiny.files.write_model(tmp_path, trained.model, trained.vocabulary)
    (tmp_path / "tokenizer.model").write_bytes(tiny.files.sentencepiece_bytes(other))
    with pytest.raises(tiny.files.ModelFilesError, match="not that of its model"):
        tiny.files.read_model(tmp_path)


def test_an_unknown_precision_is_refused(tiny: Any, trained: Trained, tmp_path: Path) -> None:
    with pytest.raises(tiny.files.ModelFilesError, match="cannot write Q4_K_M: only F32, F16, Q8_0"):
        tiny.files.write_gguf(trained.directory, tmp_path / "model.gguf", "Q4_K_M")


def run_files(
    tiny: Any, arguments: list[str], environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """`tiny_files.py` as a process."""
    command = [sys.executable, str(tiny.directory / "tiny_files.py"), *arguments]
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **(environment or {})},
    )


def test_the_command_writes_a_gguf_file(tiny: Any, trained: Trained, tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    result = run_files(tiny, [str(trained.directory), str(path), "F16", "demo"])
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    assert gguf_reader(path).fields["general.name"].contents() == "demo"


def test_the_command_says_what_is_wrong(tiny: Any, trained: Trained, tmp_path: Path) -> None:
    assert run_files(tiny, ["one"]).returncode == 2
    path = str(tmp_path / "model.gguf")
    result = run_files(tiny, [str(tmp_path), path, "F16"])
    assert result.returncode == 1
    assert result.stderr == f"cannot read {tmp_path}/config.json: No such file or directory\n"
    (tmp_path / "gguf.py").write_text("raise ImportError('none here')\n")
    blocked = {"PYTHONPATH": str(tmp_path)}
    result = run_files(tiny, [str(trained.directory), path, "F16"], blocked)
    assert result.returncode == 1
    assert "pip install gguf" in result.stderr
    assert len(result.stderr.splitlines()) == 1
