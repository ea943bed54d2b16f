"""The tiny model: gradients against differences, padding, AdamW by hand, batches."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

VOCABULARY = 40


@pytest.fixture(scope="module")
def shape(tiny: Any) -> Any:
    """Four query heads on two KV heads."""
    return tiny.model.Shape(vocab=VOCABULARY, hidden=16, layers=2, heads=4, kv_heads=2, inner=24, context=32)


@pytest.fixture
def model(tiny: Any, shape: Any) -> Any:
    """A float64 model whose gains differ from 1."""
    flat = tiny.model.initial_model(shape, 7).flat.astype(np.float64)
    flat += np.random.RandomState(1).standard_normal(flat.size) * 0.05
    return tiny.model.Model(shape, flat)


def padded_batch(tiny: Any) -> tuple[Any, Any]:
    """Three sequences of different lengths, with repeated tokens and untrained positions."""
    draw = np.random.RandomState(5)
    examples = []
    for length in (11, 8, 5):
        ids = draw.randint(5, VOCABULARY, length)
        ids[1] = ids[2] = 6
        trained = np.arange(length) >= length // 2
        examples.append(tiny.model.Example.of(list(ids), list(trained)))
    ids, targets = tiny.model.pad(examples)
    return ids, targets


def test_every_gradient_agrees_with_central_differences(tiny: Any, shape: Any, model: Any) -> None:
    ids, targets = padded_batch(tiny)
    gradient = np.zeros_like(model.flat)
    grads = tiny.model.views(gradient, shape)
    loss = tiny.model.add_gradient(model, ids, targets, grads)
    assert loss == pytest.approx(tiny.model.summed_loss(model, ids, targets), rel=1e-12)
    worst: dict[str, float] = {}
    draw = np.random.RandomState(2)
    for name, tensor in model.tensors.items():
        entries, slopes = tensor.reshape(-1), grads[name].reshape(-1)
        for place in draw.choice(entries.size, min(entries.size, 24), replace=False):
            kept, width = entries[place], 1e-5
            entries[place] = kept + width
            above = tiny.model.summed_loss(model, ids, targets)
            entries[place] = kept - width
            below = tiny.model.summed_loss(model, ids, targets)
            entries[place] = kept
            slope = (above - below) / (2 * width)
            error = abs(slope - slopes[place]) / max(1e-2, abs(slope) + abs(slopes[place]))
            worst[name] = max(worst.get(name, 0.0), error)
    assert len(worst) == len(shape.tensors())
    assert {name: error for name, error in worst.items() if error > 1e-6} == {}


def test_gradients_add_up_over_batches(tiny: Any, shape: Any, model: Any) -> None:
    ids, targets = padded_batch(tiny)
    together, apart = np.zeros_like(model.flat), np.zeros_like(model.flat)
    tiny.model.add_gradient(model, ids, targets, tiny.model.views(together, shape))
    for row in range(len(ids)):
        one = slice(row, row + 1)
        tiny.model.add_gradient(model, ids[one], targets[one], tiny.model.views(apart, shape))
    np.testing.assert_allclose(apart, together, atol=1e-11)


def test_an_example_alone_has_the_loss_it_has_in_a_padded_batch(tiny: Any, model: Any) -> None:
    ids, targets = padded_batch(tiny)
    alone = 0.0
    for row, length in enumerate((10, 7, 4)):
        cut = (slice(row, row + 1), slice(0, length))
        alone += tiny.model.summed_loss(model, ids[cut], targets[cut])
    assert alone == pytest.approx(tiny.model.summed_loss(model, ids, targets), rel=1e-12)


def test_only_targets_that_are_trained_carry_loss(tiny: Any, model: Any) -> None:
    ids, targets = padded_batch(tiny)
    other = ids.copy()
    other[0, -1] = 9  # followed by a trained target
    assert tiny.model.summed_loss(model, other, targets) != pytest.approx(tiny.model.summed_loss(model, ids, targets))
    other = ids.copy()
    other[1:, 7:] = 9  # padding
    assert tiny.model.summed_loss(model, other, targets) == pytest.approx(
        tiny.model.summed_loss(model, ids, targets), rel=1e-12
    )


def test_a_later_token_never_changes_an_earlier_score(tiny: Any, model: Any) -> None:
    ids = np.arange(5, 17)[None]
    first, _ = tiny.model.run_layers(model, ids)
    changed = ids.copy()
    changed[0, 8:] = 6
    second, _ = tiny.model.run_layers(model, changed)
    np.testing.assert_array_equal(first[:8], second[:8])
    assert not np.allclose(first[8:], second[8:])


def test_the_same_seed_gives_the_same_weights(tiny: Any, shape: Any) -> None:
    first, same = (tiny.model.initial_model(shape, 2**63 + 5).flat for _ in range(2))
    np.testing.assert_array_equal(first, same)
    assert not np.array_equal(first, tiny.model.initial_model(shape, 5).flat)


def test_first_weights_have_the_promised_spread(tiny: Any) -> None:
    wide = tiny.model.Shape(vocab=500, hidden=96, layers=3, heads=4, kv_heads=2, inner=256, context=32)
    tensors = tiny.model.initial_model(wide, 1).tensors
    for name, variance in {
        "embed": 1 / 96,
        "0.qkv": 1 / 96,
        "1.out": 1 / (6 * 96),
        "2.gate_up": 1 / 96,
        "2.down": 1 / (6 * 256),
    }.items():
        assert tensors[name].var() == pytest.approx(variance, rel=0.05), name
    assert (tensors["final_norm"] == 1).all()


def adamw_by_hand(weight: float, slopes: list[float], rates: list[float], decay: float) -> float:
    """One weight after some steps, in plain numbers."""
    m = v = 0.0
    for step, (slope, rate) in enumerate(zip(slopes, rates, strict=True), 1):
        m = 0.9 * m + 0.1 * slope
        v = 0.95 * v + 0.05 * slope * slope
        move = (m / (1 - 0.9**step)) / (math.sqrt(v / (1 - 0.95**step)) + 1e-8)
        weight = weight - rate * decay * weight - rate * move
    return weight


def test_three_steps_of_adamw_are_those_computed_by_hand(tiny: Any, shape: Any) -> None:
    rates = [0.01, 0.02, 0.015]
    draw = np.random.RandomState(3)
    flat = draw.standard_normal(shape.size())
    start = flat.copy()
    slopes = [draw.standard_normal(shape.size()) for _ in rates]
    optimizer = tiny.model.AdamW(shape, np.float64)
    for step, (slope, rate) in enumerate(zip(slopes, rates, strict=True), 1):
        optimizer.update(flat, slope.copy(), rate=rate, step=step)
    first_norm = shape.matrix_size()
    for place in (0, 100, first_norm - 1, first_norm, shape.size() - 1):
        decay = 0.1 if place < first_norm else 0.0
        expected = adamw_by_hand(start[place], [s[place] for s in slopes], rates, decay)
        assert flat[place] == pytest.approx(expected, rel=1e-12)


def test_only_norms_are_behind_the_matrices(tiny: Any, shape: Any) -> None:
    flat = np.zeros(shape.size())
    flat[shape.matrix_size() :] = 1
    for name, tensor in tiny.model.views(flat, shape).items():
        assert tensor.ndim == (1 if (tensor == 1).all() else 2), name


def test_the_rate_warms_up_and_then_follows_half_a_cosine(tiny: Any) -> None:
    rate = tiny.model.learning_rate
    assert rate(3e-3, 1, 320) == pytest.approx(1e-4)
    assert rate(3e-3, 15, 320) == pytest.approx(1.5e-3)
    assert rate(3e-3, 30, 320) == pytest.approx(3e-3)
    middle = 3e-3 * (0.05 + 0.95 * 0.5)
    assert rate(3e-3, 175, 320) == pytest.approx(middle)
    assert rate(3e-3, 320, 320) == pytest.approx(1.5e-4)
    assert rate(1.0, 1, 1) == 1.0
    assert rate(1.0, 2, 2) == pytest.approx(0.05)
    assert rate(1.0, 3, 60) == pytest.approx(0.5)


def test_a_long_gradient_is_shortened_and_a_short_one_left(tiny: Any) -> None:
    long, short = np.array([3.0, 4.0]), np.array([0.3, 0.4])
    assert tiny.model.clip(long) == pytest.approx(5.0)
    assert tiny.model.clip(short) == pytest.approx(0.5)
    np.testing.assert_allclose(long, [0.6, 0.8])
    np.testing.assert_allclose(short, [0.3, 0.4])
    assert math.isnan(tiny.model.clip(np.array([math.nan, 1.0])))


def test_rows_seen_twice_are_added_twice(tiny: Any) -> None:
    table = np.zeros((6, 2))
    tiny.model.add_rows(table, np.array([4, 0, 4, 4]), np.array([[1, 2], [3, 4], [5, 6], [7, 8.0]]))
    np.testing.assert_array_equal(table[[0, 4]], [[3, 4], [13, 16]])
    assert table.sum() == 36


def test_an_epoch_holds_every_example_once_and_follows_from_seed_and_epoch(
    tiny: Any,
) -> None:
    lengths = list(np.random.RandomState(0).randint(40, 90, 626))
    batches = tiny.model.epoch_batches(lengths, 32, 42, 3)
    assert sorted(np.concatenate(batches)) == list(range(626))
    assert sorted(len(batch) for batch in batches) == [18, *([32] * 19)]
    again = tiny.model.epoch_batches(lengths, 32, 42, 3)
    assert all(np.array_equal(*pair) for pair in zip(batches, again, strict=True))
    other = tiny.model.epoch_batches(lengths, 32, 42, 4)
    assert not np.array_equal(np.concatenate(batches), np.concatenate(other))
    padded = sum(max(lengths[place] for place in batch) * len(batch) for batch in batches)
    assert padded < 1.04 * sum(lengths)


def test_batches_are_not_in_order_of_length(tiny: Any) -> None:
    lengths = list(range(320))
    longest = [max(batch) for batch in tiny.model.epoch_batches(lengths, 32, 1, 0)]
    assert longest != sorted(longest)


@pytest.mark.parametrize(
    ("count", "size", "parts"),
    [
        (32, 16, [16, 16]),
        (18, 16, [9, 9]),
        (1, 16, [1]),
        (16, 16, [8, 8]),
        (7, 2, [1, 2, 2, 2]),
        (3, 1, [1, 1, 1]),
    ],
)
def test_a_batch_is_cut_into_even_parts(tiny: Any, count: int, size: int, parts: list[int]) -> None:
    cut = tiny.model.micro_batches(list(range(count)), size)
    assert [len(part) for part in cut] == parts
    assert [entry for part in cut for entry in part] == list(range(count))


def test_generation_ends_at_the_stop_token_the_limit_and_the_context(tiny: Any, model: Any) -> None:
    free = tiny.model.generate(model, [5, 6, 7], limit=12, stop=-1)
    assert len(free) == 12
    assert tiny.model.generate(model, [5, 6, 7], limit=12, stop=free[4]) == free[: free.index(free[4])]
    assert len(tiny.model.generate(model, [5, 6, 7], limit=1000, stop=-1)) == 32 - 3


def test_generation_takes_the_most_likely_token(tiny: Any, model: Any) -> None:
    (token,) = tiny.model.generate(model, [5, 9], limit=1, stop=-1)
    ids = np.array([[5, 9]])
    losses = [tiny.model.summed_loss(model, ids, np.array([[-1, target]])) for target in range(VOCABULARY)]
    assert token == int(np.argmin(losses))
