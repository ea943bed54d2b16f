"""The written reference is what the tables say, with every key in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from overbrainer_core.config.fields import SECTION_TABLES, is_environment_only, schema_fields
from overbrainer_core.config.reference import reference_text

HOW = (
    'python -c "from pathlib import Path; from overbrainer_core.config.reference import reference_text; '
    "Path('docs/user/configuration.md').write_text(reference_text())\""
)


def test_the_page_is_up_to_date(repository: Path) -> None:
    page = repository / "docs" / "user" / "configuration.md"
    assert page.read_text(encoding="utf-8") == reference_text(), f"write it again with {HOW}"


@pytest.mark.parametrize("section", [*SECTION_TABLES, ""])
def test_every_key_has_a_row(section: str) -> None:
    rows = [line for line in reference_text().splitlines() if line.startswith("| `")]
    for key in schema_fields(section):
        if is_environment_only(section, key):
            assert any(f"{key.upper()}` |" in row and row.startswith("| `OVERBRAINER_") for row in rows)
        else:
            assert any(row.startswith(f"| `{key}` |") for row in rows)


def test_every_row_of_a_table_has_its_columns_filled() -> None:
    text = reference_text()
    for block in text.split("\n\n"):
        rows = block.splitlines()
        if rows and rows[0].startswith("|"):
            columns = rows[0].count("|")
            assert all(row.count("|") == columns for row in rows)
    assert "| `max_hours` | number | *required* | (0, 720] |" in text
    assert "| `learning_rate` | number | `0.0002` | > 0 |" in text
    assert "`OVERBRAINER_TARGETS__<NAME>__HOST`" in text
