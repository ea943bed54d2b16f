"""Replies of the demo: tokens and limits."""

from overbrainer_core.llm.demo_reply import Reply, count_tokens, within_limit


def test_four_bytes_are_a_token_and_a_begun_one_counts() -> None:
    assert [count_tokens(text) for text in ("", "a", "abcd", "abcde", "éé", "\ud83d")] == [0, 1, 1, 2, 1, 1]


def test_reasoning_is_inside_the_completion() -> None:
    reply = Reply(content="abcd", reasoning="abcdefgh")
    assert (reply.completion_tokens, reply.reasoning_tokens) == (3, 2)


def test_a_reply_within_its_limit_is_untouched() -> None:
    reply = Reply(content="abcd", reasoning="efgh")
    assert within_limit(reply, 2) is reply
    assert within_limit(reply, None) is reply


def test_a_reply_over_its_limit_is_cut_in_the_content() -> None:
    cut = within_limit(Reply(content="abcdefgh", reasoning="efgh"), 2)
    assert cut == Reply(content="abcd", reasoning="efgh", finish="length")
    assert cut.completion_tokens == 2


def test_a_limit_below_the_reasoning_leaves_no_content() -> None:
    cut = within_limit(Reply(content="abcd", reasoning="abcdefgh"), 1)
    assert cut == Reply(content="", reasoning="abcd", finish="length")


def test_a_character_is_never_cut_in_two() -> None:
    assert within_limit(Reply(content="abcédef"), 1) == Reply(content="abc", finish="length")
