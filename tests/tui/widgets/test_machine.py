"""The System panel: cell by cell as drawn, unknown figures as unknown, parts that do not fit dropped whole."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from overbrainer_core.values.sample import Cpu, Disk, MachineSample
from overbrainer_tui.cells import Row, Tone, row_text, width_of
from overbrainer_tui.look import Look
from overbrainer_tui.view_models.snapshots import MachineShown
from overbrainer_tui.widgets.machine import machine_panel, machine_rows
from tests.tui import records


def _lines(machine: MachineShown, width: int, look: Look, *, tall: bool = False) -> list[str]:
    rows = machine_panel(machine, width, look, tall=tall)
    assert all(width_of(row) == width for row in rows)
    return [row_text(row).rstrip() for row in rows]


def _one(sample: MachineSample) -> MachineShown:
    return MachineShown(samples=(sample,), is_followed=True)


def _tone(row: Row, text: str) -> Tone:
    return next(span.tone for span in row if text in span.text)


def test_the_panel_at_48_columns(look: Look) -> None:
    assert _lines(records.machine(), 48, look) == [
        "System 10 min ───── now  used ──────────────────",
        "gpu0  ▇▇▃▄▇▆▇▇▇▇▂▇  97%  ━━━━─ 71/80G  66C  342W",
        "gpu1  ▇▇▃▄▇▆▇▇▇▇▂▇  95%  ━━━━─ 70/80G  68C  339W",
        "cpu   ▄▄▄▄▄▄▄▄▄▄▄▄  61%  ━━━── 4.9/8.0     cores",
        "mem   ▂▂▂▂▂▂▂▂▂▂▂▂  25%  ━──── 32/128G",
        "disk  ▃▃▃▃▃▃▃▃▄▄▄▄  52%  ━━╾── 1.1/2.2T   shared",
        "root  ▂▂▂▂▂▂▂▂▂▂▂▂  33%  ━╾─── 6.6/20G",
    ]


def test_old_figures_step_down_and_tell_their_age(look: Look) -> None:
    rows = machine_panel(records.machine(age_s=2460.0), 48, look)
    assert row_text(rows[0]) == "System ──────────── now  used ────────── 41m ago"
    assert _tone(rows[0], "41m ago").role == "warn"
    assert _tone(rows[1], "97").role == "dim"
    assert _tone(rows[1], "71").role == "faint"


def test_tall_cards_have_two_rows_of_history_and_one_of_memory(look: Look) -> None:
    lines = _lines(records.machine(), 58, look, tall=True)
    assert len(lines) == 11
    assert lines[2].startswith("gpu0  █")
    assert lines[2].endswith("66C  342W")
    assert lines[3].startswith(" vram ")
    assert lines[3].endswith("89%  ━━━━─ 71/80G")


def test_without_a_sample_the_panel_says_so(look: Look) -> None:
    assert _lines(MachineShown(is_followed=True), 48, look)[1] == "waiting for the first sample"
    assert _lines(MachineShown(), 48, look)[1] == "no sample: not followed"


def test_six_cards_are_three_and_the_average_of_the_others() -> None:
    cards = tuple(records.gpu(n, None if n == 5 else n / 10) for n in range(6))
    rows = machine_rows([records.sample(gpus=cards)])
    assert [row.name for row in rows[:4]] == ["gpu0", "gpu1", "gpu2", "rest"]
    assert rows[3].now == pytest.approx(0.35)
    assert rows[3].figures.parts == (("", "avg of 3"),)


def test_unknown_figures_are_unknown(look: Look) -> None:
    card = records.gpu(0, None, memory_used_bytes=None, memory_total_bytes=None, temperature_c=None, power_w=None)
    lines = _lines(_one(records.sample(gpus=(card,))), 48, look)
    assert lines[1] == "gpu0                --%  ───── -"
    assert "0%" not in lines[1]


def test_a_shared_disk_never_warns_and_others_do() -> None:
    def disk(used: int, *, is_shared: bool) -> Disk:
        return Disk(mount="/w", fs_type="nfs", is_shared=is_shared, size_bytes=100, used_bytes=used,
                    available_bytes=100 - used)  # fmt: skip

    sample = replace(records.sample(gpus=()), disks=(disk(99, is_shared=True), disk(95, is_shared=False)))
    shared, own = machine_rows([sample])[-2:]
    assert not shared.can_warn
    assert own.can_warn


def test_a_card_s_memory_alarms_in_its_figures(look: Look) -> None:
    card = records.gpu(0, memory_used_bytes=77 * records.GIB)
    row = machine_panel(_one(records.sample(gpus=(card,))), 48, look)[1]
    assert _tone(row, "77").role == "err"
    fine = machine_panel(records.machine(), 48, look)[1]
    assert _tone(fine, "71").role == "text"
    assert _tone(fine, "━━━━").role == "warn"


def test_a_host_shows_its_load_and_a_container_its_cores(look: Look) -> None:
    cpu = Cpu(usage=0.4, load1=6.4, cpus=16.0, is_container=False)
    lines = _lines(_one(replace(records.sample(gpus=()), cpu=cpu)), 48, look)
    assert lines[1].endswith("6.4/16       load")


def test_figures_that_do_not_fit_drop_whole_parts_from_the_end(look: Look) -> None:
    card = records.gpu(0, memory_used_bytes=100 * records.GIB, memory_total_bytes=141 * records.GIB)
    assert _lines(_one(records.sample(gpus=(card,))), 48, look)[1].endswith("━━━╾─ 100/141G 66C 342W")
    wide = replace(card, power_w=10_000.0)
    assert _lines(_one(records.sample(gpus=(wide,))), 48, look)[1].endswith("━━━╾─ 100/141G      66C")


@pytest.mark.parametrize("width", range(48, 60))
@pytest.mark.parametrize("tall", [False, True])
def test_rows_keep_their_width(width: int, tall: bool, look: Look) -> None:
    assert all(_lines(records.machine(), width, look, tall=tall))


def test_a_first_sample_without_cpu_use_has_a_gap_in_its_history(look: Look) -> None:
    first = replace(records.sample(gpus=()), cpu=Cpu(usage=None, load1=None, cpus=None, is_container=True))
    lines = _lines(MachineShown(samples=(first, records.sample(gpus=()))), 48, look)
    assert lines[1].startswith("cpu              ▄  61%")
    assert _lines(_one(first), 48, look)[1] == "cpu                 --%  ───── -           cores"
