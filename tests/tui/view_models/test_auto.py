"""The chain of auto mode, link by link."""

from __future__ import annotations

from overbrainer_tui.view_models.auto import AutoChain


def marks(chain: AutoChain) -> str:
    return " ".join(link.progress.value for link in chain.links())


def test_links_run_in_order_and_the_last_one_ends_the_chain() -> None:
    chain = AutoChain(has_training=True)
    names = [chain.current]
    while (name := chain.advance()) is not None:
        names.append(name)
    assert names == ["subtopics", "questions", "answers", "split", "train"]
    assert (chain.is_running, marks(chain)) == (False, "done done done done done")


def test_without_training_it_ends_after_split() -> None:
    chain = AutoChain(has_training=False)
    assert [link.name for link in chain.links()] == ["subtopics", "questions", "answers", "split"]


def test_a_stopped_chain_shows_where_it_stopped() -> None:
    chain = AutoChain(has_training=True)
    chain.advance()
    assert chain.is_running
    chain.stop()
    assert (chain.is_running, chain.current) == (False, "questions")
    assert marks(chain) == "done stopped pending pending pending"


def test_it_trains_only_at_its_last_link() -> None:
    chain = AutoChain(has_training=True)
    seen = []
    for _ in range(5):
        seen.append(chain.is_training)
        chain.advance()
    assert seen == [False, False, False, False, True]
