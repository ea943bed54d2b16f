"""How does a tiny model lie on disk? A Hugging Face directory, written and read, and a GGUF file.

A directory holds `config.json`, `generation_config.json`, `model.safetensors` (float32, Hugging
Face's names, no output matrix: it is the embedding), `tokenizer.model`, `tokenizer.json` and
`tokenizer_config.json`. Every file appears whole under its name: temporary file, fsync, rename.
The directory needs NumPy alone; only the GGUF writer imports the `gguf` package.

    <python> tiny_files.py MODEL_DIRECTORY FILE.gguf F32|F16|Q8_0 [NAME]
"""

from __future__ import annotations

import json
import os
import struct
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Tuple

import numpy as np
from tiny_model import Model, Shape, views
from tiny_tokenizer import (
    BEGIN,
    END,
    FIRST_PIECE,
    SPACE,
    SPECIAL,
    TURN_END,
    UNKNOWN,
    Vocabulary,
)

if TYPE_CHECKING:
    Array = np.ndarray[Any, Any]

CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)
"""ChatML: llama.cpp and Ollama know it. The training texts have the same frame."""
FILE_TYPES = {"F32": 0, "F16": 1, "Q8_0": 7}
"""GGUF's number for each precision that can be written."""


class ModelFilesError(Exception):
    """A model directory that cannot be read; the text says which file and why."""


def write_file(path: Path, content: bytes) -> None:
    """Writes a file that is never seen half written, in place of one of the same name."""
    # in a hidden file of the same folder: a rename does not cross disks
    temporary = path.with_name(f".{path.name}.tmp")
    with temporary.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    sync_directory(path.parent)


def sync_directory(directory: Path) -> None:
    """Makes what was renamed in a directory last."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def json_bytes(content: Any) -> bytes:
    """A document as readable JSON with a final line end."""
    return (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode()


def write_model(directory: Path, model: Model, vocabulary: Vocabulary) -> None:
    """Writes or replaces the Hugging Face directory of a model."""
    directory.mkdir(parents=True, exist_ok=True)
    shape = model.shape
    generation = {
        "bos_token_id": BEGIN,
        "do_sample": False,
        "eos_token_id": TURN_END,
        "pad_token_id": END,
    }
    contents = {
        "tokenizer.model": sentencepiece_bytes(vocabulary),
        "tokenizer.json": json_bytes(tokenizer_document(vocabulary)),
        "tokenizer_config.json": json_bytes(tokenizer_settings(shape)),
        "config.json": json_bytes(config_document(shape)),
        "generation_config.json": json_bytes(generation),
        "model.safetensors": safetensors_bytes(hub_tensors(model)),
    }
    for name, content in contents.items():
        write_file(directory / name, content)


def read_model(directory: Path) -> Tuple[Model, Vocabulary]:
    """The model and vocabulary of a directory of ours.

    Raises:
        ModelFilesError: a file is missing or holds something else.
    """
    name = ""
    try:
        name = "config.json"
        shape = shape_of(json.loads((directory / name).read_bytes()))
        name = "tokenizer.model"
        vocabulary = read_sentencepiece((directory / name).read_bytes())
        name = "model.safetensors"
        tensors = read_safetensors((directory / name).read_bytes())
        model = model_of(shape, tensors)
    except (OSError, ValueError, KeyError, TypeError, IndexError, struct.error) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a file of a tiny model"
        raise ModelFilesError(f"cannot read {directory / name}: {reason}") from error
    if len(vocabulary) != shape.vocab:
        raise ModelFilesError(f"the vocabulary in {directory} is not that of its model")
    return model, vocabulary


# The model under Hugging Face's names


def config_document(shape: Shape) -> Dict[str, Any]:
    """`config.json`."""
    return {
        "architectures": ["LlamaForCausalLM"],
        "attention_bias": False,
        "attention_dropout": 0.0,
        "bos_token_id": BEGIN,
        "eos_token_id": TURN_END,
        "head_dim": shape.head_size,
        "hidden_act": "silu",
        "hidden_size": shape.hidden,
        "initializer_range": 0.02,
        "intermediate_size": shape.inner,
        "max_position_embeddings": shape.context,
        "mlp_bias": False,
        "model_type": "llama",
        "num_attention_heads": shape.heads,
        "num_hidden_layers": shape.layers,
        "num_key_value_heads": shape.kv_heads,
        "pad_token_id": END,
        "rms_norm_eps": shape.norm_eps,
        "rope_scaling": None,
        "rope_theta": shape.rope_theta,
        "tie_word_embeddings": True,
        "torch_dtype": "float32",
        "use_cache": True,
        "vocab_size": shape.vocab,
    }


def shape_of(config: Dict[str, Any]) -> Shape:
    """The shape that a `config.json` describes."""
    return Shape(
        vocab=int(config["vocab_size"]),
        hidden=int(config["hidden_size"]),
        layers=int(config["num_hidden_layers"]),
        heads=int(config["num_attention_heads"]),
        kv_heads=int(config["num_key_value_heads"]),
        inner=int(config["intermediate_size"]),
        context=int(config["max_position_embeddings"]),
        rope_theta=float(config["rope_theta"]),
        norm_eps=float(config["rms_norm_eps"]),
    )


def hub_parts(shape: Shape) -> Iterator[Tuple[str, str, int, int, int]]:
    """Each tensor of Hugging Face: name, ours, first and last column there, heads to unpair."""
    yield "model.embed_tokens.weight", "embed", 0, 0, 0
    yield "model.norm.weight", "final_norm", 0, 0, 0
    queries = shape.heads * shape.head_size
    for layer in range(shape.layers):
        hub = f"model.layers.{layer}."
        qkv, end = f"{layer}.qkv", shape.turned + shape.kv_heads * shape.head_size
        yield f"{hub}input_layernorm.weight", f"{layer}.attn_norm", 0, 0, 0
        yield f"{hub}self_attn.q_proj.weight", qkv, 0, queries, shape.heads
        yield f"{hub}self_attn.k_proj.weight", qkv, queries, shape.turned, shape.kv_heads
        yield f"{hub}self_attn.v_proj.weight", qkv, shape.turned, end, 0
        yield f"{hub}self_attn.o_proj.weight", f"{layer}.out", 0, shape.hidden, 0
        yield f"{hub}post_attention_layernorm.weight", f"{layer}.mlp_norm", 0, 0, 0
        yield f"{hub}mlp.gate_proj.weight", f"{layer}.gate_up", 0, shape.inner, 0
        yield f"{hub}mlp.up_proj.weight", f"{layer}.gate_up", shape.inner, 2 * shape.inner, 0
        yield f"{hub}mlp.down_proj.weight", f"{layer}.down", 0, shape.hidden, 0


def hub_tensors(model: Model) -> Dict[str, Array]:
    """All tensors under Hugging Face's names, matrices (out, in), rotated pairs in halves."""
    found: Dict[str, Array] = {}
    for name, ours, start, end, heads in hub_parts(model.shape):
        tensor = model.tensors[ours]
        if end:
            tensor = tensor[:, start:end].T
        found[name] = pairs_to_halves(tensor, heads) if heads else tensor
    return found


def model_of(shape: Shape, tensors: Dict[str, Array]) -> Model:
    """The way back from `hub_tensors`."""
    flat: Array = np.zeros(shape.size(), np.float32)
    own = views(flat, shape)
    for name, ours, start, end, heads in hub_parts(shape):
        tensor = halves_to_pairs(tensors[name], heads) if heads else tensors[name]
        if end:
            own[ours][:, start:end] = tensor.T
        else:
            own[ours][...] = tensor
    return Model(shape, flat)


def pairs_to_halves(matrix: Array, heads: int) -> Array:
    """Rows of each head: first members of all pairs, then the second ones."""
    split = matrix.reshape(heads, -1, 2, matrix.shape[1])
    return split.swapaxes(1, 2).reshape(matrix.shape)


def halves_to_pairs(matrix: Array, heads: int) -> Array:
    """Rows of each head: pair by pair, as llama.cpp turns them."""
    split = matrix.reshape(heads, 2, -1, matrix.shape[1])
    return split.swapaxes(1, 2).reshape(matrix.shape)


# safetensors


def safetensors_bytes(tensors: Dict[str, Array]) -> bytes:
    """float32 tensors as the content of a safetensors file."""
    header: Dict[str, Any] = {"__metadata__": {"format": "pt"}}
    contents: List[bytes] = []
    start = 0
    for name in sorted(tensors):
        content = np.ascontiguousarray(tensors[name], "<f4").tobytes()
        header[name] = {
            "dtype": "F32",
            "shape": list(tensors[name].shape),
            "data_offsets": [start, start + len(content)],
        }
        contents.append(content)
        start += len(content)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return b"".join([struct.pack("<Q", len(text)), text, *contents])


def read_safetensors(content: bytes) -> Dict[str, Array]:
    """The float32 tensors of a safetensors file."""
    (length,) = struct.unpack_from("<Q", content)
    header = json.loads(content[8 : 8 + length])
    tensors: Dict[str, Array] = {}
    for name, entry in header.items():
        if name != "__metadata__":
            start, end = (8 + length + offset for offset in entry["data_offsets"])
            tensors[name] = np.frombuffer(content[start:end], "<f4").reshape(entry["shape"])
    return tensors


# Tokenizer files


def varint(number: int) -> bytes:
    """A whole number as protobuf writes it; negative ones as 64 bits."""
    number &= 0xFFFFFFFFFFFFFFFF
    octets = bytearray()
    while number > 0x7F:
        octets.append(number & 0x7F | 0x80)
        number >>= 7
    octets.append(number)
    return bytes(octets)


def number_field(field: int, number: int) -> bytes:
    """A protobuf field that holds a whole number."""
    return varint(field << 3) + varint(number)


def bytes_field(field: int, content: bytes) -> bytes:
    """A protobuf field that holds bytes, a text or a message."""
    return varint(field << 3 | 2) + varint(len(content)) + content


def sentencepiece_bytes(vocabulary: Vocabulary) -> bytes:
    """`tokenizer.model`: a SentencePiece BPE model with byte fallback and no normalisation."""
    parts: List[bytes] = []
    for text, score, kind in vocabulary.tokens():
        piece = bytes_field(1, text.encode()) + varint(2 << 3 | 5) + struct.pack("<f", score)
        parts.append(bytes_field(1, piece + number_field(3, kind)))
    bpe, byte_fallback = (3, 2), (35, 1)
    ids = [(40, UNKNOWN), (41, BEGIN), (42, END), (43, -1)]
    trainer = [bpe, (4, len(vocabulary)), byte_fallback, *ids]
    parts.append(bytes_field(2, b"".join(number_field(*entry) for entry in trainer)))
    # no dummy prefix, no removal of spaces, spaces escaped
    normalizer = [number_field(3, 0), number_field(4, 0), number_field(5, 1)]
    parts.append(bytes_field(3, b"".join([bytes_field(1, b"identity"), *normalizer])))
    return b"".join(parts)


def read_sentencepiece(content: bytes) -> Vocabulary:
    """The vocabulary of a `tokenizer.model` of ours; ValueError for another's."""
    tokens = []
    for field, message in protobuf_fields(content):
        if field == 1:
            piece = dict(protobuf_fields(message))
            tokens.append(piece[1].decode())
    vocabulary = Vocabulary(tuple(tokens[FIRST_PIECE:]))
    if tokens != [text for text, _, _ in vocabulary.tokens()]:
        raise ValueError("another layout of tokens")
    return vocabulary


def protobuf_fields(content: bytes) -> Iterator[Tuple[int, bytes]]:
    """Number and content of each field of a message; of a number, its bytes as they stand."""
    place = 0
    while place < len(content):
        key, place = read_varint(content, place)
        if key & 7 == 0:
            start = place
            _, place = read_varint(content, place)
        elif key & 7 == 2:
            length, start = read_varint(content, place)
            place = start + length
        elif key & 7 == 5:
            start, place = place, place + 4
        else:
            raise ValueError("a field of an unknown kind")
        yield key >> 3, content[start:place]


def read_varint(content: bytes, place: int) -> Tuple[int, int]:
    """A whole number and the place behind it."""
    number = shift = 0
    while True:
        octet = content[place]
        place += 1
        number |= (octet & 0x7F) << shift
        shift += 7
        if octet < 0x80:
            return number, place


def added_token(text: str) -> Dict[str, Any]:
    """How both tokenizer documents describe a special token."""
    flags = dict.fromkeys(("lstrip", "normalized", "rstrip", "single_word"), False)
    return {"content": text, **flags, "special": True}


def tokenizer_settings(shape: Shape) -> Dict[str, Any]:
    """`tokenizer_config.json`."""
    added = {str(place): added_token(text) for place, text in enumerate(SPECIAL)}
    return {
        "add_bos_token": False,
        "add_eos_token": False,
        "add_prefix_space": False,
        "added_tokens_decoder": added,
        "bos_token": SPECIAL[BEGIN],
        "chat_template": CHAT_TEMPLATE,
        "clean_up_tokenization_spaces": False,
        "eos_token": SPECIAL[TURN_END],
        "legacy": False,
        "model_max_length": shape.context,
        "pad_token": SPECIAL[END],
        "tokenizer_class": "LlamaTokenizer",
        "unk_token": SPECIAL[UNKNOWN],
    }


def tokenizer_document(vocabulary: Vocabulary) -> Dict[str, Any]:
    """`tokenizer.json`, for the `tokenizers` library."""
    replace = {"type": "Replace", "pattern": {"String": SPACE}, "content": " "}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": place, **added_token(text)} for place, text in enumerate(SPECIAL)],
        "normalizer": {"type": "Replace", "pattern": {"String": " "}, "content": SPACE},
        "pre_tokenizer": None,
        "post_processor": None,
        "decoder": {
            "type": "Sequence",
            "decoders": [replace, {"type": "ByteFallback"}, {"type": "Fuse"}],
        },
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": SPECIAL[UNKNOWN],
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": True,
            "byte_fallback": True,
            "ignore_merges": False,
            "vocab": {text: place for place, (text, _, _) in enumerate(vocabulary.tokens())},
            "merges": merges(vocabulary),
        },
    }


def merges(vocabulary: Vocabulary) -> List[List[str]]:
    """Every split of a piece into two pieces, best piece first.

    Of one piece the split with the longer left part first: where two overlap in a text, as in
    `nan an` and `na nan`, that is the leftmost, which the other readers of the vocabulary take.
    """
    known = set(vocabulary.pieces)
    return [
        [piece[:cut], piece[cut:]]
        for piece in vocabulary.pieces
        for cut in range(len(piece) - 1, 0, -1)
        if piece[:cut] in known and piece[cut:] in known
    ]


# GGUF


def write_gguf(directory: Path, path: Path, precision: str, name: str = "tiny") -> None:
    """Writes the GGUF file of a model directory; `precision` is F32, F16 or Q8_0.

    Raises:
        ModelFilesError: the directory cannot be read, or the precision is another one.
        ImportError: the `gguf` package is missing.
    """
    if precision not in FILE_TYPES:
        raise ModelFilesError(f"cannot write {precision}: only {', '.join(FILE_TYPES)}")
    # only this needs the package, which a training machine may lack
    import gguf

    model, vocabulary = read_model(directory)
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        writer = gguf.GGUFWriter(temporary, "llama")
        add_gguf_keys(writer, model.shape, vocabulary, precision=precision, name=name)
        for tensor_name, tensor in gguf_tensors(model).items():
            kind = gguf.GGMLQuantizationType[gguf_type(tensor, precision)]
            raw = gguf.quants.quantize(np.ascontiguousarray(tensor, np.float32), kind)
            writer.add_tensor(tensor_name, raw, raw_dtype=kind)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    sync_directory(path.parent)


def gguf_type(tensor: Array, precision: str) -> str:
    """Type of one tensor: norms stay float32, rows that fit no block of 32 stay 16 bits wide."""
    if tensor.ndim == 1:
        return "F32"
    if precision == "Q8_0" and tensor.shape[1] % 32:
        return "F16"
    return precision


def gguf_tensors(model: Model) -> Dict[str, Array]:
    """All tensors under llama.cpp's names, matrices (out, in), queries and keys in pairs."""
    names = {
        "model.embed_tokens": "token_embd",
        "model.norm": "output_norm",
        "model.layers": "blk",
        "input_layernorm": "attn_norm",
        "self_attn.q_proj": "attn_q",
        "self_attn.k_proj": "attn_k",
        "self_attn.v_proj": "attn_v",
        "self_attn.o_proj": "attn_output",
        "post_attention_layernorm": "ffn_norm",
        "mlp.gate_proj": "ffn_gate",
        "mlp.up_proj": "ffn_up",
        "mlp.down_proj": "ffn_down",
    }
    heads = {"attn_q": model.shape.heads, "attn_k": model.shape.kv_heads}
    found: Dict[str, Array] = {}
    for name, tensor in hub_tensors(model).items():
        for theirs, ours in names.items():
            name = name.replace(theirs, ours)
        turned = heads.get(name.split(".")[-2])
        found[name] = halves_to_pairs(tensor, turned) if turned else tensor
    return found


def add_gguf_keys(writer: Any, shape: Shape, vocabulary: Vocabulary, *, precision: str, name: str) -> None:
    """Everything in a GGUF file but its tensors."""
    writer.add_type("model")
    writer.add_name(name)
    writer.add_file_type(FILE_TYPES[precision])
    writer.add_quantization_version(2)
    writer.add_vocab_size(shape.vocab)
    writer.add_context_length(shape.context)
    writer.add_embedding_length(shape.hidden)
    writer.add_block_count(shape.layers)
    writer.add_feed_forward_length(shape.inner)
    writer.add_rope_dimension_count(shape.head_size)
    writer.add_rope_freq_base(shape.rope_theta)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.kv_heads)
    writer.add_layer_norm_rms_eps(shape.norm_eps)
    texts, scores, kinds = ([*column] for column in zip(*vocabulary.tokens()))  # noqa: B905
    writer.add_tokenizer_model("llama")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(texts)
    writer.add_token_scores(scores)
    writer.add_token_types(kinds)
    writer.add_bos_token_id(BEGIN)
    writer.add_eos_token_id(TURN_END)
    writer.add_unk_token_id(UNKNOWN)
    writer.add_pad_token_id(END)
    writer.add_add_bos_token(False)
    writer.add_add_eos_token(False)
    writer.add_add_space_prefix(False)
    writer.add_chat_template(CHAT_TEMPLATE)


def main(arguments: List[str]) -> int:
    """Writes one GGUF file. 0 when it is there, 1 when it cannot be, 2 for other arguments."""
    if len(arguments) not in (3, 4):
        sys.stderr.write("usage: tiny_files.py MODEL_DIRECTORY FILE.gguf F32|F16|Q8_0 [NAME]\n")
        return 2
    directory, path, precision = arguments[:3]
    try:
        write_gguf(Path(directory), Path(path), precision, *arguments[3:])
    except ImportError:
        sys.stderr.write(
            f"cannot write {path}: {sys.executable} has no `gguf` package; run `pip install gguf` with it\n"
        )
        return 1
    except (ModelFilesError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
