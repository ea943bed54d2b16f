"""Texts for a target's shell, and what is made of its answers."""

from __future__ import annotations

import pytest

from overbrainer_core.executors.errors import InvalidSecretError, ProtocolError
from overbrainer_core.executors.scripts import (
    CancelTiming,
    cancel_script,
    check_secrets,
    claim_script,
    job_wrapper,
    parse_claim,
    parse_manifest,
    parse_pid,
    parse_status,
    status_script,
)
from overbrainer_core.transfers.manifest import ManifestEntry
from overbrainer_core.values.job import Container, JobHandle, JobPhase, JobState, Secret

HASH = "ab" * 32


def test_parameters_stand_quoted_in_the_first_line() -> None:
    odd = "/runs/it's $(here)"
    job = JobHandle(directory=odd, pid=4711, container=Container(engine="podman", name="overbrainer-x"))
    assert status_script(job).split("\n")[0] == "set -- '/runs/it'\\''s $(here)' '4711'"
    first = cancel_script(job).split("\n")[0]
    assert first == "set -- '/runs/it'\\''s $(here)' '4711' 'podman' 'overbrainer-x' '30' '10' '10' '1'"
    assert job_wrapper("exit 3").split("\n")[0] == "set -- 'exit 3'"
    assert claim_script("/a", "0f").split("\n")[0] == "set -- '/a' '0f'"


def test_a_cancel_without_a_container_names_none() -> None:
    job = JobHandle(directory="/a", pid=2)
    assert cancel_script(job).split("\n")[0] == "set -- '/a' '2' '' '' '30' '10' '10' '1'"
    timing = CancelTiming(container_stop_s=1, term_checks=2, kill_checks=3, check_s=0.05)
    assert cancel_script(job, timing).split("\n")[0] == "set -- '/a' '2' '' '' '1' '2' '3' '0.05'"


@pytest.mark.parametrize(
    ("answer", "state"),
    [
        (b"running\n", JobState(phase=JobPhase.RUNNING)),
        (b"cancelled\n", JobState(phase=JobPhase.CANCELLED)),
        (b"lost\n", JobState(phase=JobPhase.LOST)),
        (b"lost group-alive\n", JobState(phase=JobPhase.LOST, living_group=77)),
        (b"exited 0\n", JobState(phase=JobPhase.EXITED, exit_code=0)),
        (b"exited 137\r\n", JobState(phase=JobPhase.EXITED, exit_code=137)),
        (b"exited 0 group-alive\n", JobState(phase=JobPhase.EXITED, exit_code=0, living_group=77)),
    ],
)
def test_every_status_word_is_read(answer: bytes, state: JobState) -> None:
    assert parse_status(answer, pid=77) == state


@pytest.mark.parametrize(
    "answer", [b"", b"exited", b"exited x", b"Running", b"running now", b"exited -1", b"exited 1 2"]
)
def test_an_unknown_status_is_an_error_of_the_protocol(answer: bytes) -> None:
    with pytest.raises(ProtocolError) as caught:
        parse_status(answer, pid=77)
    assert str(caught.value) == f'unexpected answer from the target: unknown job status "{answer.decode()}"'


def test_a_strange_answer_is_shown_short_and_harmless() -> None:
    with pytest.raises(ProtocolError) as caught:
        parse_status(b"\x1b[31m" + b"x" * 500, pid=77)
    assert len(str(caught.value)) < 200
    assert "\x1b" not in str(caught.value)


def test_a_living_group_says_how_to_end_it() -> None:
    note = parse_status(b"lost group-alive", pid=77).living_group_note()
    assert note == "process group 77 is still alive; if it is this job's, end it with: kill -s TERM -- -77"
    assert parse_status(b"lost", pid=77).living_group_note() is None


def test_claims_are_claimed_or_taken_and_nothing_else() -> None:
    assert parse_claim(b"claimed\n") is True
    assert parse_claim(b"taken\n") is False
    with pytest.raises(ProtocolError, match="`Welcome` is not an answer to a claim"):
        parse_claim(b"Welcome\n")


def test_a_process_id_is_a_number_above_one() -> None:
    assert parse_pid(b"4711\n") == 4711
    for answer in (b"", b"x", b"1", b"0", b"-5", b"+7", b"1_0", b"007", b"12 13", "٣".encode()):
        with pytest.raises(ProtocolError, match="is not a process ID"):
            parse_pid(answer)


def test_manifest_records_are_read_strictly_and_sorted() -> None:
    output = (
        f"{HASH.upper()} ./b/two\nlines\0".encode()
        + f"{HASH} ./a\\b.txt\0".encode()
        + f"{HASH} -rf\0".encode()
        + f"{HASH} ./  spaced  \0".encode()
    )
    assert [(entry.path, entry.sha256) for entry in parse_manifest(output)] == [
        ("  spaced  ", HASH),
        ("-rf", HASH),
        ("a\\b.txt", HASH),
        ("b/two\nlines", HASH),
    ]
    assert parse_manifest(b"") == ()
    assert parse_manifest(f"{HASH} ./x\0".encode()) == (ManifestEntry(path="x", sha256=HASH),)


@pytest.mark.parametrize(
    "record",
    [
        b"",
        b"short ./x",
        HASH[:-1].encode() + b" ./x",
        f"{HASH}0 ./x".encode(),
        f"{HASH} ".encode(),
        f"{HASH} ./".encode(),
        b"\\" + b"a",
    ],
)
def test_a_wrong_manifest_record_is_an_error_of_the_protocol(record: bytes) -> None:
    with pytest.raises(ProtocolError, match="unexpected manifest record"):
        parse_manifest(record + b"\0")


def test_a_manifest_cut_in_its_middle_is_an_error_of_the_protocol() -> None:
    with pytest.raises(ProtocolError, match="unexpected manifest record"):
        parse_manifest(f"{HASH} ./x\0{HASH} ./y".encode())


def test_a_name_that_is_no_utf8_is_one_clear_error() -> None:
    with pytest.raises(ProtocolError, match=r'the file name "out\\xff" is not valid UTF-8'):
        parse_manifest(f"{HASH} ./out".encode() + b"\xff\0")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("", "x"),
        ("1A", "x"),
        ("A-B", "x"),
        ("A B", "x"),
        ("Ä", "x"),
        ("A=B", "x"),
        ("A\n", "x"),
        ("A", "two\nlines"),
        ("A", "carriage\rreturn"),
        ("A", "nul\0"),
        ("A", "\ud800"),
    ],
)
def test_a_secret_that_no_environment_can_hold_is_refused_without_its_value(name: str, value: str) -> None:
    with pytest.raises(InvalidSecretError) as caught:
        check_secrets([Secret("GOOD", "fine"), Secret(name, value)])
    assert str(caught.value).endswith("cannot be passed to the job")
    assert caught.value.name == name
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_ordinary_secrets_pass() -> None:
    check_secrets([Secret("HF_TOKEN", "hf_x"), Secret("_a1", ""), Secret("B", "tab\t and 'quotes' $x ü")])
