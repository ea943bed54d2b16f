"""Which tokens does a text become? A vocabulary learnt from the training texts, and its use.

The vocabulary is a SentencePiece one (BPE with byte fallback), so that llama.cpp, sentencepiece and
tokenizers give the same IDs: no normalisation, no pre-tokenizer, a space is written U+2581, the
adjacent pair whose joint text has the best score is joined first, leftmost of equals, and what is
no piece becomes its bytes. Learnt pieces never cross a word border of `WORD`, which keeps special
tokens and byte tokens out of reach of ordinary text and lets words be encoded one by one.
The frame of a conversation is here too: what is prompt, what is answer and learnt.
Standard library only.
"""

from __future__ import annotations

import heapq
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Set, Tuple

SPACE = "\u2581"
"""How a piece writes a space."""
UNKNOWN, BEGIN, END, TURN_START, TURN_END = range(5)
"""IDs of the special tokens."""
SPECIAL = ("<unk>", "<s>", "</s>", "<|im_start|>", "<|im_end|>")
"""Texts of the special tokens by ID."""
FIRST_BYTE = len(SPECIAL)
FIRST_PIECE = FIRST_BYTE + 256
NORMAL_TYPE, UNKNOWN_TYPE, CONTROL_TYPE, BYTE_TYPE = 1, 2, 3, 6
"""Kinds of tokens, as SentencePiece and GGUF number them."""
VOCABULARY_LIMIT = 2000
"""Most tokens of a vocabulary: more would cost more time than they save."""
FEWEST_PAIRS = 2
"""A pair seen less often is not worth a token."""
WORD = re.compile(r" ?[^\W\d_]+| ?(?:[^\w ]|_)+|\d| ")
"""Words: letters or signs with the space before them, single digits, other spaces."""
SURROGATE = re.compile("[\ud800-\udfff]")
REPLACEMENT = "\ufffd"

Pair = Tuple[str, str]
Messages = List[Dict[str, str]]
"""A conversation, each message with its `role` and `content`."""


@dataclass(frozen=True)
class Vocabulary:
    """Learnt pieces in the order of their IDs from `FIRST_PIECE`: joined ones, then characters."""

    pieces: Tuple[str, ...]
    _ids: Dict[str, int] = field(init=False, repr=False, compare=False, default_factory=dict)
    _words: Dict[str, Tuple[int, ...]] = field(init=False, repr=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        for place, piece in enumerate(self.pieces):
            self._ids[piece] = FIRST_PIECE + place

    def __len__(self) -> int:
        return FIRST_PIECE + len(self.pieces)

    def tokens(self) -> List[Tuple[str, float, int]]:
        """Text, score and type of every token by ID."""
        special = [
            (text, 0.0, UNKNOWN_TYPE if place == UNKNOWN else CONTROL_TYPE) for place, text in enumerate(SPECIAL)
        ]
        octets = [(f"<0x{octet:02X}>", 0.0, BYTE_TYPE) for octet in range(256)]
        learnt = [(piece, -float(rank), NORMAL_TYPE) for rank, piece in enumerate(self.pieces)]
        return [*special, *octets, *learnt]

    def encode(self, text: str) -> List[int]:
        """IDs of a text. No special token is read from it; a lone surrogate counts as U+FFFD."""
        ids: List[int] = []
        for word in split_words(text):
            known = self._words.get(word)
            if known is None:
                known = tuple(self._encode_word(word))
                self._words[word] = known
            ids += known
        return ids

    def _encode_word(self, word: str) -> Iterable[int]:
        for symbol in join_pieces(word, self._ids):
            piece = self._ids.get(symbol)
            if piece is None:
                yield from (FIRST_BYTE + octet for octet in symbol.encode())
            else:
                yield piece

    def decode(self, ids: Iterable[int]) -> str:
        """Text of IDs. Special tokens have none; bytes that are no UTF-8 show as U+FFFD."""
        octets = bytearray()
        for token in ids:
            if token >= FIRST_PIECE:
                octets += self.pieces[token - FIRST_PIECE].encode()
            elif token >= FIRST_BYTE:
                octets.append(token - FIRST_BYTE)
        return octets.decode("utf-8", "replace").replace(SPACE, " ")


def chat_message(record: Dict[str, Any]) -> Dict[str, str]:
    """Role and text of a recorded message; an assistant's reasoning becomes part of its text.

    Raises:
        KeyError, TypeError: it is no message.
    """
    role, text, reasoning = record["role"], record["content"], record.get("reasoning_content")
    if not isinstance(role, str) or not isinstance(text, str):
        raise TypeError("a role and a text are needed")
    if role == "assistant" and isinstance(reasoning, str) and reasoning.strip():
        stripped = reasoning.strip("\n")
        text = f"<think>\n{stripped}\n</think>\n\n{text}"
    return {"role": role, "content": text}


def chat_texts(records: Iterable[Messages]) -> List[str]:
    """The texts that `chat_tokens` encodes, for a vocabulary to be learnt from."""
    texts = []
    for messages in records:
        for message in messages:
            if message["role"] == "assistant":
                texts += ["assistant\n", message["content"]]
            else:
                texts.append(f"{message['role']}\n{message['content']}")
    return texts


def chat_tokens(messages: Messages, vocabulary: Vocabulary) -> Tuple[List[int], List[bool]]:
    """IDs of a conversation in the ChatML frame, and which are learnt: answers and their ends.

    An answer is encoded apart from the line before it, as it will be when that line is a prompt.
    """
    ids: List[int] = []
    learnt: List[bool] = []
    for place, message in enumerate(messages):
        is_answer = message["role"] == "assistant"
        head = "assistant\n" if is_answer else f"{message['role']}\n{message['content']}"
        frame = [*(vocabulary.encode("\n") if place else []), TURN_START, *vocabulary.encode(head)]
        text = vocabulary.encode(message["content"]) if is_answer else []
        ids += [*frame, *text, TURN_END]
        learnt += [False] * len(frame) + [is_answer] * (len(text) + 1)
    return ids, learnt


def prompt_tokens(messages: Messages, vocabulary: Vocabulary) -> List[int]:
    """IDs of a conversation that ends where an answer is to begin."""
    ids, _ = chat_tokens([*messages, {"role": "assistant", "content": ""}], vocabulary)
    return ids[:-1]


def split_words(text: str) -> List[str]:
    """Words of a text with spaces as U+2581; joined they are the text again."""
    plain = SURROGATE.sub(REPLACEMENT, text).replace(SPACE, " ")
    return [word.replace(" ", SPACE) for word in WORD.findall(plain)]


def join_pieces(word: str, ids: Mapping[str, int]) -> List[str]:
    """A word cut into pieces and unknown characters: lowest ID joined first, leftmost of equals."""
    symbols = list(word)
    after = list(range(1, len(symbols) + 1))
    before = list(range(-1, len(symbols) - 1))
    waiting: List[Tuple[int, int, str]] = []

    def consider(left: int) -> None:
        if left >= 0 and after[left] < len(symbols):
            joint = symbols[left] + symbols[after[left]]
            if joint in ids:
                heapq.heappush(waiting, (ids[joint], left, joint))

    for left in range(len(symbols)):
        consider(left)
    while waiting:
        _, left, joint = heapq.heappop(waiting)
        right = after[left]
        # a symbol that was joined into another is empty: what waited for it no longer fits
        if right >= len(symbols) or not symbols[left] or symbols[left] + symbols[right] != joint:
            continue
        symbols[left], symbols[right] = joint, ""
        after[left] = after[right]
        if after[right] < len(symbols):
            before[after[right]] = left
        consider(before[left])
        consider(left)
    return [symbol for symbol in symbols if symbol]


def learn_vocabulary(texts: Iterable[str], limit: int = VOCABULARY_LIMIT) -> Vocabulary:
    """The vocabulary of some texts, the same for the same texts, of `limit` tokens at most."""
    words = Counter(word for text in texts for word in split_words(text))
    characters = frequent_characters(words, (limit - FIRST_PIECE) // 2)
    joined = learn_joins(words, set(characters), limit - FIRST_PIECE - len(characters))
    return Vocabulary((*joined, *characters))


def frequent_characters(words: Mapping[str, int], most: int) -> List[str]:
    """The characters seen most often; others stay bytes."""
    seen: Counter[str] = Counter()
    for word, count in words.items():
        for character in word:
            seen[character] += count
    # GGUF readers take a piece as a C string, which NUL would end
    seen.pop("\0", None)
    return sorted(seen, key=lambda character: (-seen[character], character))[:most]


def learn_joins(words: Mapping[str, int], characters: Set[str], most: int) -> List[str]:
    """Joint texts in the order in which they are learnt: most frequent pair first, then by text."""
    learner = _Learner(words, characters)
    joined: List[str] = []
    known = set(characters)
    while len(joined) < most:
        pair = learner.best_pair()
        if pair is None:
            break
        joint = pair[0] + pair[1]
        if joint not in known and overlaps_itself(joint):
            learner.forget(pair)
            continue
        if joint not in known:
            known.add(joint)
            joined.append(joint)
        learner.join(pair)
    return joined


def overlaps_itself(piece: str) -> bool:
    """Whether a piece shifted by less than half of itself fits on itself, as `aaa` does.

    `tokenizers` ranks the splits of a piece apart and would cut a run of such a one elsewhere than
    llama.cpp does, so none is learnt.
    """
    length = len(piece)
    return any(piece.startswith(piece[shift:]) for shift in range(1, (length + 1) // 2))


class _Learner:
    """Words cut into symbols, with the count of each pair and where it stands."""

    def __init__(self, words: Mapping[str, int], characters: Set[str]) -> None:
        self._words: List[List[str]] = []
        self._counts: List[int] = []
        self._pairs: Counter[Pair] = Counter()
        self._places: Dict[Pair, Set[int]] = {}
        self._heap: List[Tuple[int, Pair]] = []
        self._forgotten: Set[Pair] = set()
        for word in sorted(words):
            for part in known_parts(word, characters):
                self._words.append(part)
                self._counts.append(words[word])
                self._count(len(self._words) - 1, 1)
        self._heap = [(-count, pair) for pair, count in self._pairs.items()]
        heapq.heapify(self._heap)

    def best_pair(self) -> Optional[Pair]:
        """The pair seen most often, None when none is seen often enough."""
        while self._heap:
            count, pair = self._heap[0]
            if -count < FEWEST_PAIRS:
                return None
            if self._pairs[pair] == -count and pair not in self._forgotten:
                return pair
            heapq.heappop(self._heap)
        return None

    def forget(self, pair: Pair) -> None:
        """Leaves a pair apart for good."""
        self._forgotten.add(pair)

    def join(self, pair: Pair) -> None:
        """Makes one symbol of a pair wherever it stands."""
        changed: Set[Pair] = set()
        for place in sorted(self._places[pair]):
            changed |= self._count(place, -1)
            self._words[place] = joined_symbols(self._words[place], pair)
            changed |= self._count(place, 1)
        for other in sorted(changed):
            if self._pairs[other] >= FEWEST_PAIRS:
                heapq.heappush(self._heap, (-self._pairs[other], other))

    def _count(self, place: int, sign: int) -> Set[Pair]:
        symbols = self._words[place]
        pairs = set()
        for index in range(len(symbols) - 1):
            pair = (symbols[index], symbols[index + 1])
            pairs.add(pair)
            self._pairs[pair] += sign * self._counts[place]
        for pair in pairs:
            places = self._places.setdefault(pair, set())
            if sign > 0:
                places.add(place)
            else:
                places.discard(place)
        return pairs


def known_parts(word: str, characters: Set[str]) -> List[List[str]]:
    """The runs of known characters in a word."""
    parts: List[List[str]] = [[]]
    for character in word:
        if character in characters:
            parts[-1].append(character)
        else:
            parts.append([])
    return [part for part in parts if len(part) > 1]


def joined_symbols(symbols: Sequence[str], pair: Pair) -> List[str]:
    """The symbols with each `pair` as one, from the left."""
    result: List[str] = []
    index = 0
    while index < len(symbols):
        if index + 1 < len(symbols) and (symbols[index], symbols[index + 1]) == pair:
            result.append(pair[0] + pair[1])
            index += 2
        else:
            result.append(symbols[index])
            index += 1
    return result
