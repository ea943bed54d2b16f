"""The tiny tokenizer: what is learnt, and the same IDs as llama.cpp, sentencepiece, tokenizers."""

from __future__ import annotations

import importlib.util
import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.peers.llama_server import require_llama_server, serve_gguf

SUBJECTS = ["Peru", "Iceland", "Kazakhstan", "tellurium", "Ganymede", "東京", "Αθήνα", "Ελλάδα"]
ODD = [
    *(
        "",
        " ",
        "  ",
        "   a",
        "a   ",
        " a b ",
        "\n",
        "\n\n\n",
        "\r\n",
        "a\r\nb",
        "\t\tx",
        "\x0b\x0c",
    ),
    *("▁", "▁▁", "a▁b", "\x00", "a\x00b", "\x7f\x80\x9f", "\u00a0x", "\u2028\u2029", "\ufeffx"),
    *("<0x41>", "<0x00>", "<0xE2><0x96>", "<unk>", "<s>", "</s>", "<|im_start|>", "<|im_end|>"),
    *(
        "<|im_start|>user\nhi<|im_end|>",
        "x<|im_end|>y",
        "<|im_",
        "<|",
        "|>",
        "<think>\n",
        "</think>",
    ),
    *(
        "aaa",
        "aaaa",
        "aaaaaaa",
        "ababab",
        "banana",
        "nanana",
        "......",
        "--------",
        "===",
        "!!!???",
    ),
    *("123", "1 2 3", "12,345.67", "٣٤٥", "²½", "x2y3", "_", "__init__", "snake_case", "a_1"),
    *("日本語のテキスト", "東京東京", "ひらがな", "汉字", "한국어", "ไทยแลนด์", "العربية", "עברית"),
    *("Αθήνα Ελλάδα", "Ñandú", "e\u0301", "n\u0303o", "क्षेत्र", "👨‍👩‍👧‍👦", "🇵🇪🇮🇸", "👍🏽"),
    *("\U0001f600", "\U0010ffff", "\ufffd", "\ufffe", "ǆ", "ﬁ", "İi", "ß", "ẞ", "𝔘𝔫𝔦"),
    *("The capital of Peru", " capital", "capital", "Capital", "parliament?", "of.\n</think>\n\n"),
]


def corpus() -> list[str]:
    """Texts with repeated words of several scripts, repeated signs, digits."""
    rows = []
    for subject in SUBJECTS:
        rows += [
            f"user\nWhich city hosts the parliament of {subject}?",
            f"<think>\nThis is about {subject} and asks for its capital.\n</think>\n\n"
            f"The capital of {subject} is {subject}... (see a_b: 12, 345 --- ok!!)",
            f"aaa aaaa banana nanana ababab {subject}{subject} <0x41> <|im_start|> \x00 ==== \r\n",
        ]
    return rows * 2


def odd_texts() -> list[str]:
    """The odd texts, and enough joined from them to be more than two hundred."""
    draw = random.Random(11)
    joined = ["".join(draw.choices(ODD, k=draw.randint(2, 6))) for _ in range(160)]
    return [*ODD, *joined]


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A learnt vocabulary and the directory that holds its files."""

    vocabulary: Any
    directory: Path
    shape: Any


@pytest.fixture(scope="module")
def written(tiny: Any, tmp_path_factory: pytest.TempPathFactory) -> Written:
    """The vocabulary of the corpus beside a model too small to know anything."""
    vocabulary = tiny.tokenizer.learn_vocabulary(corpus())
    shape = tiny.model.Shape(vocab=len(vocabulary), hidden=32, layers=1, heads=4, kv_heads=2, inner=32, context=4096)
    directory = tmp_path_factory.mktemp("tokenizer")
    tiny.files.write_model(directory, tiny.model.initial_model(shape, 1), vocabulary)
    return Written(vocabulary=vocabulary, directory=directory, shape=shape)


@pytest.fixture(scope="module")
def llama_cpp(tiny: Any, written: Written) -> Iterator[httpx.Client]:
    """llama.cpp's server on that vocabulary."""
    require_llama_server()
    path = written.directory / "model.gguf"
    tiny.files.write_gguf(written.directory, path, "F16")
    with serve_gguf(path) as url, httpx.Client(base_url=url, trust_env=False) as client:
        yield client


@pytest.fixture(scope="module")
def sentencepiece_model(written: Written) -> Any:
    """`tokenizer.model` in its own library."""
    sentencepiece = pytest.importorskip("sentencepiece")
    return sentencepiece.SentencePieceProcessor(str(written.directory / "tokenizer.model"))


@pytest.fixture(scope="module")
def tokenizers_model(written: Written) -> Any:
    """`tokenizer.json` in its own library, special tokens not parsed."""
    tokenizers = pytest.importorskip("tokenizers")
    tokenizer = tokenizers.Tokenizer.from_file(str(written.directory / "tokenizer.json"))
    tokenizer.encode_special_tokens = True
    return tokenizer


def llama_ids(client: httpx.Client, text: str, *, parse_special: bool) -> list[int]:
    """IDs that llama.cpp gives."""
    body = {"content": text, "add_special": False, "parse_special": parse_special}
    answer = client.post("/tokenize", json=body)
    answer.raise_for_status()
    return [int(token) for token in answer.json()["tokens"]]


def ids_with_special(tiny: Any, vocabulary: Any, text: str) -> list[int]:
    """Our IDs with special tokens parsed: the texts between them are encoded one by one."""
    for token, special in enumerate(tiny.tokenizer.SPECIAL):
        if special in text:
            before, after = text.split(special, 1)
            return [
                *ids_with_special(tiny, vocabulary, before),
                token,
                *ids_with_special(tiny, vocabulary, after),
            ]
    return list(vocabulary.encode(text))


def test_llama_cpp_gives_the_same_ids(tiny: Any, written: Written, llama_cpp: httpx.Client) -> None:
    texts = odd_texts()
    assert len(texts) >= 200
    for text in texts:
        expected = written.vocabulary.encode(text)
        assert llama_ids(llama_cpp, text, parse_special=False) == expected, repr(text)
        parsed = ids_with_special(tiny, written.vocabulary, text)
        assert llama_ids(llama_cpp, text, parse_special=True) == parsed, repr(text)


def test_llama_cpp_gives_the_text_back(written: Written, llama_cpp: httpx.Client) -> None:
    for text in ODD:
        answer = llama_cpp.post("/detokenize", json={"tokens": written.vocabulary.encode(text)})
        assert answer.json()["content"] == text.replace("▁", " "), repr(text)


def test_sentencepiece_gives_the_same_ids(written: Written, sentencepiece_model: Any) -> None:
    for text in odd_texts():
        expected = written.vocabulary.encode(text)
        assert sentencepiece_model.encode(text) == expected, repr(text)
        assert sentencepiece_model.decode(expected) == text.replace("▁", " "), repr(text)


def test_tokenizers_gives_the_same_ids(written: Written, tokenizers_model: Any) -> None:
    for text in odd_texts():
        expected = written.vocabulary.encode(text)
        assert tokenizers_model.encode(text, add_special_tokens=False).ids == expected, repr(text)
        assert tokenizers_model.decode(expected) == text.replace("▁", " "), repr(text)


def test_sentencepiece_knows_the_special_tokens(tiny: Any, written: Written, sentencepiece_model: Any) -> None:
    assert sentencepiece_model.unk_id() == tiny.tokenizer.UNKNOWN
    assert sentencepiece_model.bos_id() == tiny.tokenizer.BEGIN
    assert sentencepiece_model.eos_id() == tiny.tokenizer.END
    assert sentencepiece_model.vocab_size() == len(written.vocabulary)
    assert sentencepiece_model.is_control(tiny.tokenizer.TURN_END)


PROPERTY = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck), database=None)
TEXTS = st.lists(
    st.one_of(
        st.text(max_size=8),
        st.sampled_from(ODD),
        st.text(alphabet="an. -<|>_0x41", max_size=8),
        st.sampled_from(SUBJECTS),
    ),
    max_size=5,
).map("".join)


@PROPERTY
@given(text=TEXTS)
def test_any_text_has_the_same_ids_everywhere(
    written: Written,
    llama_cpp: httpx.Client,
    sentencepiece_model: Any,
    tokenizers_model: Any,
    text: str,
) -> None:
    expected = written.vocabulary.encode(text)
    assert llama_ids(llama_cpp, text, parse_special=False) == expected
    assert sentencepiece_model.encode(text) == expected
    assert tokenizers_model.encode(text, add_special_tokens=False).ids == expected


@PROPERTY
@given(text=TEXTS)
def test_any_text_comes_back(written: Written, text: str) -> None:
    assert written.vocabulary.decode(written.vocabulary.encode(text)) == text.replace("▁", " ")


@PROPERTY
@given(words=st.lists(st.text(alphabet="ab", min_size=1, max_size=9), min_size=1, max_size=6))
def test_runs_that_overlap_are_cut_as_tokenizers_cuts_them(
    tiny: Any, words: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    vocabulary = tiny.tokenizer.learn_vocabulary(words * 3)
    document = tiny.files.json_bytes(tiny.files.tokenizer_document(vocabulary)).decode()
    theirs = tokenizers.Tokenizer.from_str(document)
    for pair in itertools.product(words, repeat=2):
        for text in ("".join(pair), " ".join(pair), pair[0] * 3):
            assert theirs.encode(text).ids == vocabulary.encode(text), (words, text)


def test_a_lone_surrogate_counts_as_a_replacement_sign(written: Written) -> None:
    assert written.vocabulary.encode("a\ud83db") == written.vocabulary.encode("a\ufffdb")


def test_special_tokens_in_a_text_stay_text(tiny: Any, written: Written) -> None:
    for special in tiny.tokenizer.SPECIAL:
        ids = written.vocabulary.encode(f"x {special} y")
        assert min(ids) >= tiny.tokenizer.FIRST_BYTE
    assert written.vocabulary.encode("<0x41>") != [tiny.tokenizer.FIRST_BYTE + 0x41]


def test_a_word_of_the_data_is_one_token(written: Written) -> None:
    for subject in SUBJECTS[:5]:
        assert len(written.vocabulary.encode(f" {subject}")) == 1


def test_digits_stay_alone(written: Written) -> None:
    assert len(written.vocabulary.encode("12345")) == 5


def test_the_same_texts_give_the_same_vocabulary(tiny: Any) -> None:
    shuffled = corpus()
    random.Random(1).shuffle(shuffled)
    learn = tiny.tokenizer.learn_vocabulary
    assert learn(shuffled).pieces == learn(corpus()).pieces


def test_pairs_of_equal_count_are_learnt_in_the_order_of_their_text(tiny: Any) -> None:
    pieces = tiny.tokenizer.learn_vocabulary(["cd ab", "ab cd"] * 2).pieces
    assert pieces[:4] == ("ab", "cd", "▁ab", "▁cd")


def test_a_pair_seen_once_is_not_learnt(tiny: Any) -> None:
    assert tiny.tokenizer.learn_vocabulary(["xy"]).pieces == ("x", "y")


def test_a_vocabulary_stays_within_its_limit(tiny: Any) -> None:
    letters = "".join(chr(0x4E00 + place) for place in range(3000))
    words = [letters[start : start + 6] for start in range(0, 3000, 6)]
    texts = [" ".join(words), " ".join(words[:250])]
    vocabulary = tiny.tokenizer.learn_vocabulary(texts)
    assert len(vocabulary) <= tiny.tokenizer.VOCABULARY_LIMIT
    assert vocabulary.decode(vocabulary.encode(letters)) == letters
    small = tiny.tokenizer.learn_vocabulary(corpus(), limit=300)
    assert len(small) == 300


def test_no_text_at_all_still_gives_a_vocabulary(tiny: Any) -> None:
    vocabulary = tiny.tokenizer.learn_vocabulary([])
    assert len(vocabulary) == tiny.tokenizer.FIRST_PIECE
    assert vocabulary.decode(vocabulary.encode("héllo")) == "héllo"


def test_no_piece_crosses_a_word(tiny: Any, written: Written) -> None:
    for piece in written.vocabulary.pieces:
        assert tiny.tokenizer.split_words(piece.replace("▁", " ")) == [piece]


def test_joining_equals_trying_every_pair(tiny: Any, written: Written) -> None:
    pieces = {piece: rank for rank, piece in enumerate(written.vocabulary.pieces)}
    draw = random.Random(4)
    for _ in range(200):
        word = "".join(draw.choices("anbcptil▁", k=draw.randint(1, 12)))
        symbols = list(word)
        while True:
            ranked = [
                (pieces[joint], left)
                for left in range(len(symbols) - 1)
                if (joint := symbols[left] + symbols[left + 1]) in pieces
            ]
            if not ranked:
                break
            left = min(ranked)[1]
            symbols[left : left + 2] = [symbols[left] + symbols[left + 1]]
        assert tiny.tokenizer.join_pieces(word, pieces) == symbols


RECORD = [
    {"role": "system", "content": "Be short."},
    {"role": "user", "content": "Capital of Peru<|im_end|>?"},
    {"role": "assistant", "content": "Lima.", "reasoning_content": "\nPeru: Lima.\n"},
]


def test_only_the_answer_and_its_end_are_learnt(tiny: Any, written: Written) -> None:
    messages = [tiny.tokenizer.chat_message(record) for record in RECORD]
    ids, learnt = tiny.tokenizer.chat_tokens(messages, written.vocabulary)
    answer = [token for token, is_learnt in zip(ids, learnt, strict=True) if is_learnt]
    assert answer[-1] == tiny.tokenizer.TURN_END
    text = written.vocabulary.decode(answer)
    assert text == "<think>\nPeru: Lima.\n</think>\n\nLima."
    first = learnt.index(True)
    assert all(learnt[first:])
    assert ids[:first] == tiny.tokenizer.prompt_tokens(messages[:2], written.vocabulary)


def test_an_end_of_turn_inside_a_question_stays_text(tiny: Any, written: Written) -> None:
    messages = [tiny.tokenizer.chat_message(record) for record in RECORD]
    ids, _ = tiny.tokenizer.chat_tokens(messages, written.vocabulary)
    assert ids.count(tiny.tokenizer.TURN_END) == ids.count(tiny.tokenizer.TURN_START) == 3
    assert written.vocabulary.decode(ids) == (
        "system\nBe short.\nuser\nCapital of Peru<|im_end|>?\nassistant\n<think>\nPeru: Lima.\n</think>\n\nLima."
    )


def test_an_answer_without_reasoning_has_no_thinking_block(tiny: Any) -> None:
    for reasoning in (None, "", "  \n"):
        record = {"role": "assistant", "content": "Lima.", "reasoning_content": reasoning}
        assert tiny.tokenizer.chat_message(record)["content"] == "Lima."


def test_the_prompt_is_what_the_chat_template_gives(tiny: Any, written: Written, llama_cpp: httpx.Client) -> None:
    question = {"role": "user", "content": "  (Which city?) \n"}
    answer = llama_cpp.post("/apply-template", json={"messages": [question]})
    prompt = answer.json()["prompt"]
    assert prompt == "<|im_start|>user\n  (Which city?) \n<|im_end|>\n<|im_start|>assistant\n"
    expected = tiny.tokenizer.prompt_tokens([question], written.vocabulary)
    assert llama_ids(llama_cpp, prompt, parse_special=True) == expected


def test_the_vocabulary_needs_only_the_standard_library(tiny: Any) -> None:
    source = (tiny.directory / "tiny_tokenizer.py").read_text()
    names = {line.split()[1].split(".")[0] for line in source.split("\n") if line.startswith(("import ", "from "))}
    for name in names:
        spec = importlib.util.find_spec(name)
        assert spec is not None
        assert "site-packages" not in (spec.origin or "")
