"""A board keeps its canvases, draws again for a new size, and paints nothing without a change."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual.app import App

from overbrainer_tui.cells import TEXT, Line
from overbrainer_tui.look import ColorLevel, Look
from overbrainer_tui.pieces import Piece
from overbrainer_tui.themes.palette import StyleTable
from overbrainer_tui.widgets.board import Board

MakeApp = Callable[..., App[None]]
Lines = Callable[[App[None]], list[str]]


class Words(Board[tuple[str, ...]]):
    """A piece for each word, one under another."""

    def pieces(self, content: tuple[str, ...], width: int, height: int) -> Sequence[Piece]:
        """The words."""
        made = []
        for y, word in enumerate(content):
            line = Line(width)
            line.put(0, word, TEXT)
            made.append(Piece(name=f"word-{y}", x=0, y=y, width=width, rows=(line.row(),)))
        return made


async def test_pieces_stand_on_the_screen(look: Look, drawing_app: MakeApp, screen_lines: Lines) -> None:
    board = Words(StyleTable(look))
    app = drawing_app(board)
    async with app.run_test(size=(20, 4)) as pilot:
        board.show(("one", "two"))
        await pilot.pause()
        assert [line.rstrip() for line in screen_lines(app)] == ["one", "two", "", ""]


async def test_content_shown_before_there_is_a_screen_is_drawn_with_it(
    look: Look, drawing_app: MakeApp, screen_lines: Lines
) -> None:
    board = Words(StyleTable(look))
    board.show(("early",))
    app = drawing_app(board)
    async with app.run_test(size=(20, 4)) as pilot:
        await pilot.pause()
        assert screen_lines(app)[0].rstrip() == "early"


async def test_equal_content_paints_nothing(look: Look, drawing_app: MakeApp) -> None:
    board = Words(StyleTable(look))
    async with drawing_app(board).run_test(size=(20, 4)) as pilot:
        board.show(("one", "two"))
        await pilot.pause()
        before = board.painted_regions
        board.show(("one", "two"))
        board.redraw()
        await pilot.pause()
        assert board.painted_regions == before
        assert not board._repaint_regions


async def test_a_word_that_goes_leaves_ground_and_may_come_back(
    look: Look, drawing_app: MakeApp, screen_lines: Lines
) -> None:
    board = Words(StyleTable(look))
    app = drawing_app(board)
    async with app.run_test(size=(20, 4)) as pilot:
        for words in (("one", "two"), ("one",), ("one", "new")):
            board.show(words)
            await pilot.pause()
            assert [line.rstrip() for line in screen_lines(app)][:2] == [*words, ""][:2]
        assert board.rows_of("word-1")
        assert not board.rows_of("word-2")


async def test_a_new_size_draws_the_same_content(look: Look, drawing_app: MakeApp, screen_lines: Lines) -> None:
    board = Words(StyleTable(look))
    app = drawing_app(board)
    async with app.run_test(size=(20, 4)) as pilot:
        board.show(("a" * 30,))
        await pilot.pause()
        await pilot.resize_terminal(40, 4)
        await pilot.pause()
        assert screen_lines(app)[0].rstrip() == "a" * 30


async def test_muted_everything_is_in_the_colour_of_hairlines(look: Look, drawing_app: MakeApp) -> None:
    board, table = Words(StyleTable(look)), StyleTable(look)
    async with drawing_app(board).run_test(size=(20, 4)) as pilot:
        board.show(("one",))
        await pilot.pause()
        board.dress(table, is_muted=True)
        board.show(("one", "two"))
        await pilot.pause()
        for name in ("word-0", "word-1"):
            canvas = board.canvas(name)
            assert canvas is not None
            style = next(iter(canvas.render_lines(canvas.size.region)[0])).style
            assert style is not None
            assert style.color is not None
            assert style.color.get_truecolor() == (0x3B, 0x32, 0x38)
        before = board.painted_regions
        board.dress(table, is_muted=True)
        await pilot.pause()
        assert board.painted_regions == before


async def test_a_fade_ends_in_full_strength_and_stops_its_timer(look: Look, drawing_app: MakeApp) -> None:
    now = [0.0]
    board = Words(StyleTable(look), clock=lambda: now[0])
    async with drawing_app(board).run_test(size=(20, 4)) as pilot:
        board.show(("one",))
        await pilot.pause()
        board.fade_in(0.16)
        canvas = board.canvas("word-0")
        assert canvas is not None
        assert canvas._table is not board._table
        now[0] = 1.0
        await pilot.pause(0.1)
        assert canvas._table is board._table
        assert board._fade is None


async def test_nothing_fades_below_24_bit_colour(drawing_app: MakeApp) -> None:
    look = Look(level=ColorLevel.C256)
    board = Words(StyleTable(look))
    async with drawing_app(board, look=look).run_test(size=(20, 4)) as pilot:
        board.show(("one",))
        await pilot.pause()
        board.fade_in(0.16)
        assert board._fade is None
