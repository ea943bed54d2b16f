from __future__ import annotations

import pytest

from overbrainer_core.dedup.vectors import VectorIndex


@pytest.mark.parametrize("use_numpy", [True, False])
def test_near_vectors_are_found_by_their_angle(use_numpy: bool) -> None:
    index = VectorIndex(0.9, use_numpy=use_numpy)
    assert index.find([1.0, 0.0]) is None
    for vector in ([0.0, 3.0], [2.0, 0.1], [0.0, 0.0], [5.0, 0.0]):
        index.add(vector)
    assert index.find([1.0, 0.0]) == 1
    assert index.find([-1.0, 0.0]) is None
    assert index.find([1.0, 1.0]) is None
    assert index.find([0.0, 0.0]) is None
    assert len(index) == 4


@pytest.mark.parametrize("use_numpy", [True, False])
def test_the_threshold_itself_is_near(use_numpy: bool) -> None:
    index = VectorIndex(0.6, use_numpy=use_numpy)
    index.add([1.0, 0.0])
    assert index.find([3.0, 4.0]) == 0


def test_there_is_room_for_many() -> None:
    index = VectorIndex(0.999, use_numpy=True)
    for number in range(200):
        index.add([1.0, float(number)])
    assert index.find([1.0, 0.0]) == 0
    assert index.find([1.0, 1.0]) == 1
