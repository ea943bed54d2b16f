"""Configuration that cannot be used, as a process meets it: one line, the right code, no value, nothing left behind."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.peers.program import run, write_project

SECRET = "hunter2"
"""In every text that must not be shown."""
CONFIG, ENV = "overbrainer.toml", ".env"
TOPIC = '[[topics]]\nname = "{name}"\nsubtopics = {count}\nquestions_per_subtopic = 1\n'

Prepare = Callable[[Path], None]


def whole(name: str, content: str | bytes) -> Prepare:
    """The file holds this."""
    return lambda root: _write(root / name, content)


def _write(path: Path, content: str | bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)


def added(text: str) -> Prepare:
    """`overbrainer.toml` goes on with this."""
    return lambda root: _write(root / CONFIG, (root / CONFIG).read_text() + text)


def changed(old: str, new: str) -> Prepare:
    """A text of `overbrainer.toml` is another."""

    def prepare(root: Path) -> None:
        text = (root / CONFIG).read_text()
        assert old in text
        _write(root / CONFIG, text.replace(old, new))

    return prepare


def instead(name: str, kind: str) -> Prepare:
    """A directory, a FIFO, a device or a link that leads nowhere or in a circle stands in the place of a file."""

    def prepare(root: Path) -> None:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        match kind:
            case "directory":
                path.mkdir()
            case "fifo":
                os.mkfifo(path)
            case "device":
                path.symlink_to("/dev/zero")
            case "circle":
                path.symlink_to(path.name)
            case _:
                path.symlink_to(f"/nonexistent/{SECRET}")

    return prepare


def in_place_of_state(kind: str) -> Prepare:
    """`.overbrainer` is a file or a link to a directory."""

    def prepare(root: Path) -> None:
        (root / ".overbrainer").rename(root / "away")
        if kind == "file":
            (root / ".overbrainer").touch()
        else:
            (root / ".overbrainer").symlink_to(root / "away")

    return prepare


REFUSED: list[tuple[str, Prepare, list[str], str]] = [
    # the text of overbrainer.toml
    ("syntax", whole(CONFIG, f"[project]\nname = {SECRET}\n"), [], "at line 2, column 8"),
    ("syntax-after-5-mb", added("# a comment\n" * 430_000 + f"{SECRET} {SECRET}\n"), [], "at line 430021, column 9"),
    ("17-mb", added(f"# {SECRET}\n" * 1_900_000), [], "it is larger than 16 MiB"),
    ("line-ends-of-old-macs", whole(CONFIG, f"[project]\rname = '{SECRET}'\r"), [], "at line 1, column 10"),
    ("latin-1", whole(CONFIG, f"[project]\nname = '{SECRET}é'\n".encode("latin-1")), [], "valid UTF-8"),
    ("utf-16", whole(CONFIG, f"[project]\nname = '{SECRET}'\n".encode("utf-16")), [], "valid UTF-8"),
    ("nul", whole(CONFIG, f"[project]\nname = '{SECRET}\0'\n"), [], "at line 2, column 16"),
    ("nested-lists", added("[training.axolotl_extra]\nx = " + "[" * 100_000), [], "TOML syntax error"),
    ("nested-tables", added("[training.axolotl_extra]\nx = " + "{a = " * 20_000), [], "TOML syntax error"),
    ("a-key-of-100000-parts", added("a" + ".a" * 100_000 + " = 1\n"), [], "TOML syntax error"),
    ("an-integer-of-5000-digits", added("[pipeline2]\nx = " + "9" * 5000 + "\n"), [], "TOML syntax error"),
    # keys and values
    ("key-in-other-case", changed("concurrency = 2", "Concurrency = 2"), [], "did you mean `concurrency`?"),
    ("key-twice-in-two-cases", changed("concurrency = 2", "concurrency = 2\nConcurrency = 2"), [], "`Concurrency`"),
    ("provider-in-other-case", added('[providers.Here]\nprotocol = "openai"\n'), [], "providers.Here: name must"),
    ("type", changed("concurrency = 2", f'concurrency = "{SECRET}"'), [], "expected an integer"),
    ("choice", changed('"openai"', f'"{SECRET}"'), [], "expected one of `openai`, `anthropic`"),
    ("secret-in-the-file", changed('"openai"', f'"openai"\napi_key = "{SECRET}"'), [], "must be set through env"),
    ("long-name-of-a-table", added(f'["{"k" * 200_000}"]\n'), [], "unknown field `kkk"),
    ("name-that-moves-the-cursor", added('["\\u001b[2Jx\\nerror: y"]\n'), [], r"\u{1b}[2Jx\nerror: y"),
    # the environment
    ("env-value-of-two-words", whole(ENV, f"A=1\nOVERBRAINER_HF_TOKEN={SECRET} two\n"), [], "error at line 2"),
    ("env-open-quote", whole(ENV, f'A=1\nB="{SECRET}\nC=2\n'), [], "error at line 2"),
    ("env-without-equals", whole(ENV, f"{SECRET}\n"), [], "error at line 1"),
    ("env-nul", whole(ENV, f"A={SECRET}\0\n"), [], "error at line 1"),
    ("env-latin-1", whole(ENV, f"A={SECRET}é\n".encode("latin-1")), [], "cannot read .env: stream"),
    ("env-utf-16", whole(ENV, f"A={SECRET}\n".encode("utf-16")), [], "cannot read .env: stream"),
    ("env-17-mb", whole(ENV, f"A={SECRET}\n" * 1_800_000), [], "it is larger than 16 MiB"),
    ("env-type", whole(ENV, f"OVERBRAINER_PIPELINE__CONCURRENCY={SECRET}\n"), [], "expected an integer"),
    ("env-table", whole(ENV, f"OVERBRAINER_PIPELINE={SECRET}\n"), [], "pipeline: has the wrong type"),
    ("env-unknown", whole(ENV, f"OVERBRAINER_PIPELINE__CONCURENCY={SECRET}\n"), [], "OVERBRAINER_PIPELINE__CONCURENCY"),
    (
        "env-that-doubles",
        whole(ENV, f"A0={SECRET}\n" + "".join(f"A{n}=${{A{n - 1}}}${{A{n - 1}}}\n" for n in range(1, 200))),
        [],
        "cannot parse .env (syntax error at line ",
    ),
    # what stands in the place of a file
    *(
        (f"{name.strip('.')}-{kind}", instead(name, kind), ["subtopics"] if kind == "fifo" else [], words)
        for name in (CONFIG, ENV)
        for kind, words in (
            ("directory", "Is a directory"),
            ("fifo", "it is not a regular file"),
            ("device", "it is not a regular file"),
            ("circle", "Too many levels of symbolic links"),
        )
    ),
    ("overbrainer.toml-dangling", instead(CONFIG, "dangling"), [], "No such file or directory; run `overbrainer init`"),
    ("prompt-directory", instead("prompts/subtopics.txt", "directory"), ["subtopics"], "Is a directory"),
    ("prompt-fifo", instead("prompts/questions.txt", "fifo"), ["subtopics"], "not a safe file"),
    ("prompt-latin-1", whole("prompts/judge.txt", f"{SECRET}é".encode("latin-1")), ["subtopics"], "it is not UTF-8"),
    ("prompt-syntax", whole("prompts/judge.txt", f"{SECRET}{{% if %}}"), ["subtopics"], "invalid template judge.txt"),
    ("data-directory", instead("data/subtopics.jsonl", "directory"), ["questions"], "Is a directory"),
    ("data-fifo", instead("data/answers.jsonl", "fifo"), ["split"], "not a safe file"),
    ("data-line", whole("data/answers.jsonl", f'\n{{"id": "{SECRET}"}}\n'), ["split"], "answers.jsonl:2: "),
    ("version-fifo", instead(".overbrainer/version", "fifo"), ["split"], "not a safe path"),
    ("version-link", instead(".overbrainer/version", "dangling"), ["split"], "not a safe path"),
    ("version-garbage", whole(".overbrainer/version", f"{SECRET}\n"), ["split"], "holds no format number"),
    ("version-of-the-future", whole(".overbrainer/version", "99\n"), ["split"], "upgrade overbrainer"),
    ("state-is-a-file", in_place_of_state("file"), ["split"], "not a safe lock path"),
    ("state-is-a-link", in_place_of_state("link"), ["split"], "not a safe lock path"),
]


@pytest.mark.parametrize(
    ("prepare", "arguments", "words"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED]
)
def test_what_cannot_be_used_is_one_line_and_code_3(
    tmp_path: Path, prepare: Prepare, arguments: list[str], words: str
) -> None:
    root = write_project(tmp_path / "p")
    prepare(root)
    before = set(root.rglob("*"))
    done = run(root, *(arguments or ["config", "check"]), limit_s=15)
    assert done.returncode == 3, done.stderr[:2000]
    assert done.stdout == ""
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    assert words in done.stderr
    assert len(done.stderr) < 1000
    assert SECRET not in done.stderr
    assert "Traceback" not in done.stderr
    new = {path.name for path in set(root.rglob("*")) - before}
    assert new <= {"lock", "history.jsonl"}  # a stage that began has its line


def test_ten_thousand_topics_of_one_name_do_not_fill_the_screen(tmp_path: Path) -> None:
    root = write_project(tmp_path / "p")
    added(TOPIC.format(name="t", count=1) * 10_000)(root)
    done = run(root, "config", "check", limit_s=15)
    assert done.returncode == 3
    lines = done.stderr.splitlines()
    assert lines[0] == "error: invalid configuration:"
    assert set(lines[1:-1]) == {"  topics: duplicate name `t`"}
    assert len(lines) == 52
    assert lines[-1].strip().endswith("more")


USED: list[tuple[str, Prepare, str]] = [
    ("5-mb-of-comments", added(f"# {SECRET} and more of it\n" * 200_000), "pipeline = concurrency: 2"),
    (
        "byte-order-mark",
        lambda root: _write(root / CONFIG, "\ufeff" + (root / CONFIG).read_text()),
        "project.name = e2e",
    ),
    (
        "carriage-returns",
        lambda root: _write(root / CONFIG, (root / CONFIG).read_text().replace("\n", "\r\n")),
        "project.name = e2e",
    ),
    (
        "10000-topics",
        added("".join(TOPIC.format(name=f"topic {n}", count=1) for n in range(10_000))),
        "topics.topic 9999 = 1 subtopics x 1 questions",
    ),
    ("topics-in-two-cases", added(TOPIC.format(name="Tea", count=1)), "topics.Tea = 1 subtopics"),
    ("env-byte-order-mark", whole(ENV, "\ufeffOVERBRAINER_PIPELINE__SEED=7\r\n# end\r\n"), "seed: 7"),
    ("env-link-to-nowhere", instead(ENV, "dangling"), "providers.here.base_url = (unset)"),
    ("env-of-100000-names", whole(ENV, "".join(f"K{n}={SECRET}\n" for n in range(100_000))), "project.name = e2e"),
    ("env-of-700-kb-in-a-value", whole(ENV, "A=" + SECRET * 100_000 + "\n"), "project.name = e2e"),
    (
        "env-for-the-interpreter",
        whole(ENV, f"PATH=/nonexistent\nPYTHONPATH=/nonexistent\nPYTHONSTARTUP=/{SECRET}\nLD_PRELOAD=/{SECRET}.so\n"),
        "project.name = e2e",
    ),
    ("env-filter-that-is-none", whole(ENV, f"OVERBRAINER_LOG=\x1b[31m{SECRET}=,,trace\n"), "project.name = e2e"),
]


@pytest.mark.parametrize(("prepare", "words"), [row[1:] for row in USED], ids=[row[0] for row in USED])
def test_what_is_only_odd_is_used_and_shows_nothing_of_it(tmp_path: Path, prepare: Prepare, words: str) -> None:
    root = write_project(tmp_path / "p")
    prepare(root)
    done = run(root, "config", "check", limit_s=15)
    assert done.returncode == 0, done.stderr[:2000]
    assert words in done.stdout
    assert done.stderr == ""
    assert SECRET not in done.stdout


def test_many_problems_are_a_page_and_no_more(tmp_path: Path) -> None:
    root = write_project(tmp_path / "p")
    added("".join(TOPIC.format(name=f"t{n}", count=0) for n in range(10_000)))(root)
    done = run(root, "config", "check", limit_s=15)
    lines = done.stderr.splitlines()
    assert done.returncode == 3
    assert lines[:2] == ["error: invalid configuration:", "  topics.t0.subtopics: must be at least 1"]
    assert (len(lines), lines[-1]) == (52, "  and 9950 more")


def test_of_two_spellings_of_a_variable_the_capitals_win(tmp_path: Path) -> None:
    root = write_project(tmp_path / "p")
    extra = {"overbrainer_pipeline__concurrency": "3", "OVERBRAINER_PIPELINE__CONCURRENCY": "4"}
    done = run(root, "config", "check", extra=extra)
    assert "concurrency: 4," in done.stdout


def test_a_hostile_environment_file_fills_no_memory(tmp_path: Path) -> None:
    root = write_project(tmp_path / "p")
    whole(ENV, f"A0={SECRET * 100}\n" + "".join(f"A{n}=${{A{n - 1}}}${{A{n - 1}}}\n" for n in range(1, 40)))(root)
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    started = time.monotonic()
    assert run(root, "config", "check", limit_s=15).returncode == 3
    assert time.monotonic() - started < 15
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss <= max(before, 400_000)


@pytest.mark.parametrize("arguments", [["history"], ["runs", "ls"]], ids=" ".join)
@pytest.mark.parametrize("kind", ["directory", "fifo", "dangling"])
def test_a_listing_says_what_it_cannot_read(tmp_path: Path, arguments: list[str], kind: str) -> None:
    root = write_project(tmp_path / "p")
    name = ".overbrainer/history.jsonl" if arguments == ["history"] else "runs/tea_1/run.json"
    instead(name, kind)(root)
    done = run(root, *arguments, limit_s=15)
    assert done.returncode in (0, 3)
    assert "Traceback" not in done.stderr
    told = [line for line in done.stderr.splitlines() if line != "runs: none yet"]
    assert len(told) <= 1
