"""What does a small Llama compute, and which way does each weight go? Batches, gradients, AdamW.

NumPy only, written by hand, in the data type of its weights (float32 in training, float64 to check
the gradients). One flat vector holds all parameters, matrices first, the tensors are views of it.
Matrices are stored (in, out); query, key and value are one product, gate and up another. The pairs
that rotary attention turns lie side by side, so that a turn is one complex product; the Hugging
Face files want them in halves (`tiny_files`). Sequences are padded on the right, which needs no
mask but the causal one. No result depends on threads: nothing here starts one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Dict, List, Sequence, Tuple

import numpy as np

if TYPE_CHECKING:
    Array = np.ndarray[Any, Any]

PAD = 2
"""ID in the place of no token: nothing reads it."""
UNTRAINED = -1
"""Target of a position that carries no loss."""
MASKED = -1e9
"""Added to the score of a later position: its weight becomes exactly 0."""
PARTS = 2
"""Sums that a batch is computed in, hence the most threads of use."""
SORTED_BATCHES = 16
"""Batches whose examples are sorted by length together: little padding, much mixing."""
BETA_1 = 0.9
BETA_2 = 0.95
ADAM_EPSILON = 1e-8
WEIGHT_DECAY = 0.1
"""On matrices only, the embeddings among them."""
MAX_NORM = 1.0
"""Length above which a gradient is shortened."""
WARMUP_STEPS = 30
"""At most; a short training warms up for a tenth of its steps."""
FINAL_RATE = 0.05
"""Share of the peak learning rate left at the last step."""


@dataclass(frozen=True)
class Shape:
    """Dimensions of a model. `head_size` is even: rotary attention turns pairs."""

    vocab: int
    hidden: int
    layers: int
    heads: int
    kv_heads: int
    inner: int
    context: int
    rope_theta: float = 10000.0
    norm_eps: float = 1e-5

    @property
    def head_size(self) -> int:
        """Width of one attention head."""
        return self.hidden // self.heads

    @property
    def turned(self) -> int:
        """Width of what rotary attention turns: all queries and keys."""
        return (self.heads + self.kv_heads) * self.head_size

    def tensors(self) -> List[Tuple[str, Tuple[int, ...]]]:
        """Name and dimensions of every tensor in the order of the flat vector."""
        qkv = self.turned + self.kv_heads * self.head_size
        matrices: List[Tuple[str, Tuple[int, ...]]] = [("embed", (self.vocab, self.hidden))]
        norms: List[Tuple[str, Tuple[int, ...]]] = []
        for layer in range(self.layers):
            matrices += [
                (f"{layer}.qkv", (self.hidden, qkv)),
                (f"{layer}.out", (self.heads * self.head_size, self.hidden)),
                (f"{layer}.gate_up", (self.hidden, 2 * self.inner)),
                (f"{layer}.down", (self.inner, self.hidden)),
            ]
            norms += [(f"{layer}.attn_norm", (self.hidden,)), (f"{layer}.mlp_norm", (self.hidden,))]
        return [*matrices, *norms, ("final_norm", (self.hidden,))]

    def matrix_size(self) -> int:
        """Number of leading entries of the flat vector that belong to matrices."""
        return sum(math.prod(dims) for _, dims in self.tensors() if len(dims) > 1)

    def size(self) -> int:
        """Number of parameters."""
        return sum(math.prod(dims) for _, dims in self.tensors())


def views(flat: Array, shape: Shape) -> Dict[str, Array]:
    """The tensors of a flat vector by name; writing to one writes to the vector."""
    found: Dict[str, Array] = {}
    start = 0
    for name, dims in shape.tensors():
        end = start + math.prod(dims)
        found[name] = flat[start:end].reshape(dims)
        start = end
    return found


class Model:
    """Weights of one shape, with the tables that its forward pass needs."""

    def __init__(self, shape: Shape, flat: Array) -> None:
        self.shape = shape
        self.flat = flat
        self.tensors = views(flat, shape)
        self._turns = turns(shape, 0, flat.dtype)
        self._mask = causal_mask(0, flat.dtype)

    def tables(self, length: int) -> Tuple[Array, Array]:
        """Rotations (length, turned / 2) and causal mask (length, length)."""
        rotations, mask = self._turns, self._mask
        if len(mask) < length:
            grown = max(length, min(2 * len(mask), self.shape.context))
            rotations = turns(self.shape, grown, self.flat.dtype)
            mask = causal_mask(grown, self.flat.dtype)
            self._turns, self._mask = rotations, mask
        return rotations[:length], mask[:length, :length]


def initial_model(shape: Shape, seed: int) -> Model:
    """A model of random float32 weights, the same for the same seed with any NumPy."""
    draw = np.random.RandomState(seed_words(seed))
    flat: Array = np.ones(shape.size(), np.float32)
    for name, tensor in views(flat, shape).items():
        if tensor.ndim == 1:
            continue
        fan_in = shape.hidden if name == "embed" else tensor.shape[0]
        into_the_sum = name.endswith((".out", ".down"))
        variance = 1.0 / fan_in / (2 * shape.layers if into_the_sum else 1)
        tensor[...] = draw.standard_normal(tensor.shape) * math.sqrt(variance)
    return Model(shape, flat)


def seed_words(seed: int, *more: int) -> List[int]:
    """A seed of up to 64 bits, and what tells its uses apart, as the words that NumPy takes."""
    return [seed & 0xFFFFFFFF, (seed >> 32) & 0xFFFFFFFF, *more]


@dataclass(frozen=True)
class Example:
    """Tokens of one chat record, and which of them are learnt."""

    ids: Array
    trained: Array

    @classmethod
    def of(cls, ids: List[int], trained: List[bool]) -> Example:
        """An example of what `chat_tokens` gives."""
        return cls(np.asarray(ids, np.int32), np.asarray(trained, bool))


def pad(examples: Sequence[Example]) -> Tuple[Array, Array]:
    """Inputs and targets of some examples, (examples, longest length less 1)."""
    length = max(len(example.ids) for example in examples) - 1
    ids = np.full((len(examples), length), PAD, np.int32)
    targets = np.full((len(examples), length), UNTRAINED, np.int32)
    for row, example in enumerate(examples):
        end = len(example.ids) - 1
        ids[row, :end] = example.ids[:-1]
        targets[row, :end] = np.where(example.trained[1:], example.ids[1:], UNTRAINED)
    return ids, targets


def epoch_batches(lengths: Sequence[int], batch_size: int, seed: int, epoch: int) -> List[Array]:
    """Places of the examples of each batch of an epoch (from 0), all drawn from seed and epoch."""
    draw = np.random.RandomState(seed_words(seed, epoch))
    order = draw.permutation(len(lengths))
    sizes = np.asarray(lengths)
    batches: List[Array] = []
    window = SORTED_BATCHES * batch_size
    for start in range(0, len(order), window):
        places = order[start : start + window]
        places = places[np.argsort(sizes[places], kind="stable")]
        batches += [places[at : at + batch_size] for at in range(0, len(places), batch_size)]
    return [batches[place] for place in draw.permutation(len(batches))]


def micro_batches(examples: Sequence[Example], size: int) -> List[Sequence[Example]]:
    """A batch in even parts of at most `size` examples, two of them where it can be."""
    count = min(len(examples), max(PARTS, math.ceil(len(examples) / size)))
    ends = [len(examples) * part // count for part in range(count + 1)]
    return [examples[ends[part] : ends[part + 1]] for part in range(count)]


def trained_tokens(batches: Sequence[Tuple[Array, Array]]) -> int:
    """Number of tokens that carry loss."""
    return sum(int(np.count_nonzero(targets != UNTRAINED)) for _, targets in batches)


def turns(shape: Shape, length: int, dtype: Any) -> Array:
    """What queries and keys are multiplied with, one row a position.

    Pairs are complex numbers; the queries' part also holds 1 / sqrt(head size), so that their
    products with the keys are the scaled scores.
    """
    pairs = shape.head_size // 2
    frequencies = shape.rope_theta ** (-np.arange(pairs) / pairs)
    turn = np.exp(1j * np.arange(length)[:, None] * frequencies)
    queries = np.tile(turn / math.sqrt(shape.head_size), (1, shape.heads))
    both = np.concatenate([queries, np.tile(turn, (1, shape.kv_heads))], axis=1)
    kept: Array = both.astype(np.result_type(dtype, np.complex64))
    return kept


def causal_mask(length: int, dtype: Any) -> Array:
    """0 for this position and those before, a large negative number after."""
    return np.triu(np.full((length, length), MASKED, dtype), 1)


def add_gradient(model: Model, ids: Array, targets: Array, grads: Dict[str, Array]) -> float:
    """Adds the gradient of the summed loss of a padded batch to `grads`; gives that loss.

    `ids` and `targets` are (examples, length); a target is `UNTRAINED` or the ID that follows.
    """
    with np.errstate(over="ignore"):
        x, kept = run_layers(model, ids)
        wanted = np.flatnonzero(targets.reshape(-1) != UNTRAINED)
        loss, top = top_gradient(model, x[wanted], targets.reshape(-1)[wanted], grads)
        dx = np.zeros_like(x)
        dx[wanted] = top
        for layer in reversed(range(model.shape.layers)):
            dx = layer_backward(model, layer, kept[layer], (dx, grads))
    add_rows(grads["embed"], ids.reshape(-1), dx)
    return loss


def summed_loss(model: Model, ids: Array, targets: Array) -> float:
    """Summed loss of a padded batch; `ids` and `targets` as for `add_gradient`."""
    with np.errstate(over="ignore"):
        x, _ = run_layers(model, ids)
        wanted = np.flatnonzero(targets.reshape(-1) != UNTRAINED)
        y, _, _ = norm(x[wanted], model.tensors["final_norm"], model.shape.norm_eps)
        return cross_entropy(y @ model.tensors["embed"].T, targets.reshape(-1)[wanted])


def run_layers(model: Model, ids: Array) -> Tuple[Array, List[Tuple[Any, ...]]]:
    """Output of the last layer (tokens, hidden), and what each layer's backward pass needs."""
    kept = []
    x = model.tensors["embed"][ids.reshape(-1)]
    for layer in range(model.shape.layers):
        x, attention = attend(model, layer, x, ids.shape)
        x, swiglu = feed_forward(model, layer, x)
        kept.append((ids.shape, attention, swiglu))
    return x, kept


def cross_entropy(logits: Array, wanted: Array) -> float:
    """Summed loss; afterwards `logits` holds its gradient, probabilities less the wanted ones."""
    rows = np.arange(len(wanted))
    logits -= logits.max(axis=1, keepdims=True)
    chosen = logits[rows, wanted].astype(np.float64)
    np.exp(logits, out=logits)
    sums = logits.sum(axis=1, keepdims=True)
    logits *= 1 / sums
    logits[rows, wanted] -= 1
    return float(np.sum(np.log(sums[:, 0].astype(np.float64)) - chosen))


def top_gradient(model: Model, x: Array, wanted: Array, grads: Dict[str, Array]) -> Tuple[float, Array]:
    """Loss at the trained positions and its gradient by their last hidden state."""
    embed = model.tensors["embed"]
    y, n, r = norm(x, model.tensors["final_norm"], model.shape.norm_eps)
    logits = y @ embed.T
    loss = cross_entropy(logits, wanted)
    grads["embed"] += logits.T @ y
    return loss, norm_backward(logits @ embed, (n, r), model.tensors["final_norm"], grads["final_norm"])


def norm(x: Array, gain: Array, eps: float) -> Tuple[Array, Array, Array]:
    """RMSNorm: the result, the normed input and the reciprocal lengths."""
    r = 1 / np.sqrt((x * x).mean(axis=-1, keepdims=True) + eps)
    n = x * r
    return n * gain, n, r


def norm_backward(dy: Array, kept: Tuple[Array, Array], gain: Array, dgain: Array) -> Array:
    """Gradient by the input; that by the gain is added to `dgain`."""
    n, r = kept
    product = dy * n
    dgain += product.sum(axis=0)
    product *= gain
    means = product.mean(axis=-1, keepdims=True)
    dx: Array = dy * gain
    dx -= n * means
    dx *= r
    return dx


def attend(model: Model, layer: int, x: Array, batch: Tuple[int, ...]) -> Tuple[Array, Tuple[Array, ...]]:
    """`x` plus its attention, and what the way back needs."""
    shape, tensors = model.shape, model.tensors
    h, n, r = norm(x, tensors[f"{layer}.attn_norm"], shape.norm_eps)
    qkv = (h @ tensors[f"{layer}.qkv"]).reshape(*batch, -1)
    rotations, mask = model.tables(batch[1])
    turn(qkv, shape, rotations)
    q, k, v = split_heads(qkv, shape)
    weights = q @ k.swapaxes(2, 3)
    grouped = weights.reshape(*weights.shape[:2], -1, *mask.shape)
    grouped += mask
    weights -= weights.max(axis=-1, keepdims=True)
    np.exp(weights, out=weights)
    weights *= 1 / weights.sum(axis=-1, keepdims=True)
    heads = weights @ v
    joined = join_queries(heads, shape, batch)
    x = x + joined @ tensors[f"{layer}.out"]
    return x, (n, r, h, q, k, v, weights, heads, joined)


def turn(qkv: Array, shape: Shape, rotations: Array) -> None:
    """Turns the queries and keys in place."""
    pairs = qkv.view(rotations.dtype)
    pairs[:, :, : shape.turned // 2] *= rotations


def split_heads(qkv: Array, shape: Shape) -> Tuple[Array, Array, Array]:
    """Queries (batch, KV heads, group x length, size), keys and values (batch, KV, length, size).

    Query head j reads KV head j // group.
    """
    size, queries = shape.head_size, shape.heads * shape.head_size
    q = split_queries(qkv[:, :, :queries], shape)
    rest = qkv[:, :, queries:].reshape(*qkv.shape[:2], 2, shape.kv_heads, size)
    k, v = rest.transpose(2, 0, 3, 1, 4)
    return q, k, v


def split_queries(flat: Array, shape: Shape) -> Array:
    """(batch, length, heads x size) as (batch, KV heads, group x length, size)."""
    batch, length, _ = flat.shape
    split = flat.reshape(batch, length, shape.kv_heads, -1, shape.head_size)
    return split.transpose(0, 2, 3, 1, 4).reshape(batch, shape.kv_heads, -1, shape.head_size)


def join_queries(split: Array, shape: Shape, batch: Tuple[int, ...]) -> Array:
    """The way back from `split_queries`, as (tokens, heads x size)."""
    wide = split.reshape(batch[0], shape.kv_heads, -1, batch[1], shape.head_size)
    return wide.transpose(0, 3, 1, 2, 4).reshape(batch[0] * batch[1], -1)


def feed_forward(model: Model, layer: int, x: Array) -> Tuple[Array, Tuple[Array, ...]]:
    """`x` plus its SwiGLU, and what the way back needs."""
    tensors, inner = model.tensors, model.shape.inner
    h, n, r = norm(x, tensors[f"{layer}.mlp_norm"], model.shape.norm_eps)
    both = h @ tensors[f"{layer}.gate_up"]
    gate, up = both[:, :inner], both[:, inner:]
    s = np.exp(-gate)
    s += 1
    np.divide(1, s, out=s)
    opened = gate * s
    product = opened * up
    return x + product @ tensors[f"{layer}.down"], (n, r, h, both, s, opened, product)


def layer_backward(model: Model, layer: int, kept: Tuple[Any, ...], flow: Tuple[Array, Dict[str, Array]]) -> Array:
    """Gradient by a layer's input from that by its output; `flow` is the latter and all grads."""
    batch, attention, swiglu = kept
    dx = flow[0]
    dx += feed_forward_backward(model, layer, swiglu, flow)
    dx += attend_backward(model, layer, (batch, *attention), flow)
    return dx


def feed_forward_backward(
    model: Model, layer: int, kept: Tuple[Array, ...], flow: Tuple[Array, Dict[str, Array]]
) -> Array:
    """What the SwiGLU branch adds to the gradient by the layer's middle."""
    tensors, inner = model.tensors, model.shape.inner
    n, r, h, both, s, opened, product = kept
    dx, grads = flow
    grads[f"{layer}.down"] += product.T @ dx
    dproduct = dx @ tensors[f"{layer}.down"].T
    dboth = np.empty_like(both)
    np.multiply(dproduct, opened, out=dboth[:, inner:])
    # d silu(a) = s + a s (1 - s)
    slope = 1 - s
    slope *= opened
    slope += s
    dproduct *= both[:, inner:]
    np.multiply(dproduct, slope, out=dboth[:, :inner])
    grads[f"{layer}.gate_up"] += h.T @ dboth
    dh = dboth @ tensors[f"{layer}.gate_up"].T
    gain = f"{layer}.mlp_norm"
    return norm_backward(dh, (n, r), tensors[gain], grads[gain])


def attend_backward(model: Model, layer: int, kept: Tuple[Any, ...], flow: Tuple[Array, Dict[str, Array]]) -> Array:
    """What the attention branch adds to the gradient by the layer's input."""
    shape, tensors = model.shape, model.tensors
    batch, n, r, h, q, k, v, weights, heads, joined = kept
    dx, grads = flow
    grads[f"{layer}.out"] += joined.T @ dx
    djoined = (dx @ tensors[f"{layer}.out"].T).reshape(*batch, -1)
    dheads = split_queries(djoined, shape)
    dqkv = np.empty((*batch, tensors[f"{layer}.qkv"].shape[1]), h.dtype)
    queries = shape.heads * shape.head_size
    rest = dqkv[:, :, queries:].reshape(*batch, 2, shape.kv_heads, shape.head_size)
    dk, dv = rest.transpose(2, 0, 3, 1, 4)
    dv[...] = weights.swapaxes(2, 3) @ dheads
    dscores = dheads @ v.swapaxes(2, 3)
    dscores -= (dheads * heads).sum(axis=-1, keepdims=True)
    dscores *= weights
    dqkv[:, :, :queries] = join_queries(dscores @ k, shape, batch).reshape(*batch, -1)
    dk[...] = dscores.swapaxes(2, 3) @ q
    turn(dqkv, shape, model.tables(batch[1])[0].conj())
    flat = dqkv.reshape(len(h), -1)
    grads[f"{layer}.qkv"] += h.T @ flat
    dh = flat @ tensors[f"{layer}.qkv"].T
    gain = f"{layer}.attn_norm"
    return norm_backward(dh, (n, r), tensors[gain], grads[gain])


def add_rows(table: Array, rows: Array, values: Array) -> None:
    """`table[row] += value` for each, repeated rows too, in a fixed order."""
    order = np.argsort(rows, kind="stable")
    sorted_rows = rows[order]
    starts = np.flatnonzero(np.diff(sorted_rows, prepend=-1))
    table[sorted_rows[starts]] += np.add.reduceat(values[order], starts, axis=0)


def learning_rate(peak: float, step: int, max_steps: int) -> float:
    """Rate of a step (from 1): linear warm-up, then half a cosine down to `FINAL_RATE`."""
    warmup = min(WARMUP_STEPS, math.ceil(max_steps / 10))
    if step <= warmup:
        return peak * step / warmup
    progress = (step - warmup) / (max_steps - warmup)
    return peak * (FINAL_RATE + (1 - FINAL_RATE) * (1 + math.cos(math.pi * progress)) / 2)


def clip(gradient: Array) -> float:
    """Shortens a gradient to `MAX_NORM` in place; gives its length before."""
    length = math.sqrt(float(np.dot(gradient, gradient)))
    if math.isfinite(length) and length > MAX_NORM:
        gradient *= MAX_NORM / length
    return length


class AdamW:
    """Both moments of every parameter, and the step that they lead to."""

    def __init__(self, shape: Shape, dtype: Any = np.float32) -> None:
        self.m: Array = np.zeros(shape.size(), dtype)
        self.v: Array = np.zeros(shape.size(), dtype)
        self._scratch: Array = np.empty(shape.size(), dtype)
        self._decayed = shape.matrix_size()

    def update(self, flat: Array, gradient: Array, *, rate: float, step: int) -> None:
        """Moves the weights one step (from 1). Uses up `gradient`."""
        scratch = self._scratch
        np.multiply(gradient, gradient, out=scratch)
        scratch *= 1 - BETA_2
        self.v *= BETA_2
        self.v += scratch
        gradient *= 1 - BETA_1
        self.m *= BETA_1
        self.m += gradient
        np.multiply(self.v, 1 / (1 - BETA_2**step), out=scratch)
        np.sqrt(scratch, out=scratch)
        scratch += ADAM_EPSILON
        np.divide(self.m, scratch, out=scratch)
        scratch *= rate / (1 - BETA_1**step)
        flat[: self._decayed] *= 1 - rate * WEIGHT_DECAY
        flat -= scratch


def next_logits(model: Model, ids: Sequence[int]) -> Array:
    """Scores of every token to follow a text."""
    with np.errstate(over="ignore"):
        x, _ = run_layers(model, np.asarray([ids]))
        y, _, _ = norm(x[-1:], model.tensors["final_norm"], model.shape.norm_eps)
        logits: Array = (y @ model.tensors["embed"].T)[0]
    return logits


def generate(model: Model, ids: Sequence[int], *, limit: int, stop: int) -> List[int]:
    """The most likely continuation, token by token, without the `stop` token that ends it."""
    text = list(ids)
    while len(text) < min(len(ids) + limit, model.shape.context):
        token = int(np.argmax(next_logits(model, text)))
        if token == stop:
            break
        text.append(token)
    return text[len(ids) :]
