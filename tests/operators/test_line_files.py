"""Lines in and out: positions, resumption, and files that have changed."""

import gzip
import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from datetime import timedelta

import bytewax.operators as op
import pytest
from bytewax.dataflow import Dataflow
from bytewax.recovery import RecoveryConfig, init_db_dir
from bytewax.testing import TestingSink, TestingSource, cluster_main, run_main

from okl_flow import draining
from okl_flow.operators.files import LinesSink, LinesSource, lines, write_lines
from okl_flow.wire import Encoded, Raw


def drained(source, part=None, state=None, batches=None):
    """What a part gives, batch after batch, and its state afterwards."""
    part = source.build_part("in", part or source.list_parts()[0], state)
    out = []
    try:
        while batches is None or len(out) < batches:
            out.append(part.next_batch())
    except StopIteration:
        pass
    state = part.snapshot()
    part.close()
    return out, state


@pytest.fixture(params=["plain", "gzip"])
def file(request, tmp_path):
    def write(data, name="a.jsonl"):
        path = tmp_path / name
        path.write_bytes(gzip.compress(data) if request.param == "gzip" else data)
        return path

    return write


def test_a_line_is_a_record(file):
    path = file(b"one\r\n\n \t\ntwo \nthree")
    [batch], _state = drained(LinesSource(path))
    assert batch == [
        Raw(b"one", None, "a.jsonl", 0, 1),
        Raw(b"two ", None, "a.jsonl", 0, 4),
        Raw(b"three", None, "a.jsonl", 0, 5),
    ]


def test_the_mark_of_utf_8_and_a_header_are_left_out(file):
    path = file("\ufeffa,b\n1,2\n3,4\n".encode())
    assert drained(LinesSource(path))[0][0][0].value == b"a,b"
    for batch_size in (1, 2, 9):
        batches, _ = drained(LinesSource(path, skip=1, batch_size=batch_size))
        assert [(raw.value, raw.offset) for batch in batches for raw in batch] == [
            (b"1,2", 2),
            (b"3,4", 3),
        ]


def test_the_mark_belongs_to_a_line_that_is_not_the_first(file):
    path = file("one\n\ufefftwo\n".encode())
    for batch_size in (1, 2):
        batches, _ = drained(LinesSource(path, batch_size=batch_size))
        assert [raw.value for batch in batches for raw in batch] == [b"one", "\ufefftwo".encode()]


@pytest.mark.parametrize("batch_size", [1, 2, 5, 100])
def test_a_part_goes_on_where_it_was(file, batch_size):
    path = file("\ufeffzero\n".encode() + b"".join(b"line %d\n\n" % i for i in range(9)) + b"end")
    source = LinesSource(path, batch_size=batch_size, skip=1)
    whole = [raw for batch in drained(source)[0] for raw in batch]
    assert len(whole) == 10
    for cut in range(12):
        first, state = drained(source, batches=cut)
        rest, _ = drained(source, state=state)
        assert [raw for batch in first + rest for raw in batch] == whole


def test_a_line_longer_than_any_buffer(file):
    path = file(b"x" * 300_000 + b"\ny\n")
    source = LinesSource(path, batch_size=1)
    [[long]], state = drained(source, batches=1)
    assert (len(long.value), state) == (300_000, (0, 300_001, 1))
    assert drained(source, state=state)[0][0][0].value == b"y"


def test_empty_files(file):
    assert drained(LinesSource(file(b"")))[0] == []
    assert drained(LinesSource(file(b"\n\n")))[0] == [[]]


def test_a_file_that_has_grown_is_read_on(file):
    path = file(b"one\n")
    _, state = drained(LinesSource(path))
    file(b"one\ntwo\n")
    [[raw]], _ = drained(LinesSource(path), state=state)
    assert (raw.value, raw.offset) == (b"two", 2)


def test_a_file_that_has_become_shorter_is_refused(file):
    path = file(b"one\ntwo\n")
    _, state = drained(LinesSource(path))
    file(b"one\n")
    with pytest.raises(
        ValueError, match="a.jsonl: 8 bytes of it were read before, and now it is s"
    ):
        drained(LinesSource(path), state=state)


def test_files_in_another_order_are_refused(file):
    paths = [file(b"one\n", "a"), file(b"two\n", "b")]
    source = LinesSource(paths)
    [[raw]], state = drained(source, str(paths[1]))
    assert (raw.topic, raw.partition) == ("b", 1)
    with pytest.raises(
        ValueError, match="b is file number 0, and it was number 1 before; give the"
    ):
        drained(LinesSource(paths[::-1]), str(paths[1]), state)


def test_a_damaged_file_is_refused(tmp_path):
    path = tmp_path / "a.gz"
    data = gzip.compress(random.Random(0).randbytes(50_000) + b"\n")
    path.write_bytes(data[:-2000])
    with pytest.raises(
        ValueError, match="a.gz, line 1 or after: cannot read on, the file is cut or"
    ):
        drained(LinesSource(path))
    path.write_bytes(gzip.compress(b"one\n" * 10_000)[:-20])
    with pytest.raises(ValueError, match="a.gz, line .*: cannot read on"):
        drained(LinesSource(path), state=(0, 40_000, 10_000))


def test_a_name_that_is_no_text_makes_a_topic_that_is(tmp_path):
    path = os.fsdecode(os.fsencode(tmp_path) + b"/\xff")
    with open(path, "wb") as out:
        out.write(b"one\n")
    [[raw]], _ = drained(LinesSource(path))
    assert raw.topic == r"\udcff"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([],), "paths must be one or more different files"),
        ((["a", "a"],), "paths must be one or more different files, not"),
        (("absent",), "paths: absent is no file"),
        ((".",), "paths: . is no file"),
        (("a", {"batch_size": 0}), "batch_size must be a whole number at least 1, not 0"),
        (("a", {"skip": True}), "skip must be a whole number at least 0, not True"),
    ],
)
def test_what_a_source_cannot_be(tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").touch()
    paths, *options = arguments
    with pytest.raises(ValueError, match=message):
        LinesSource(paths, **dict(*options))


def test_lines_written_are_there_at_once_and_cut_on_resume(tmp_path):
    path = tmp_path / "out"
    sink = LinesSink(path)
    assert sink.list_parts() == ["lines"]
    path.write_bytes(b"from before\n")
    part = sink.build_part("out", "lines", None)
    assert path.read_bytes() == b""
    part.write_batch([b"one\n", b"two\n"])
    assert path.read_bytes() == b"one\ntwo\n"
    state = part.snapshot()
    part.write_batch([b"three\n"])
    assert path.read_bytes() == b"one\ntwo\nthree\n"
    part.close()
    resumed = sink.build_part("out", "lines", state)
    assert resumed.snapshot() == state
    assert path.read_bytes() == b"one\ntwo\n"
    resumed.write_batch([b"four\n"])
    resumed.close()
    assert path.read_bytes() == b"one\ntwo\nfour\n"


def test_a_snapshot_is_on_the_disk_first(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(os, "fsync", lambda number: synced.append(os.fstat(number).st_size))
    part = LinesSink(tmp_path / "out").build_part("out", "lines", None)
    assert (part.snapshot(), synced) == (0, [])
    part.write_batch([b"one\n"])
    assert (part.snapshot(), synced) == (4, [4])
    assert (part.snapshot(), synced) == (4, [4])
    part.close()


def test_an_output_that_was_cut_is_refused(tmp_path):
    (tmp_path / "out").write_bytes(b"one\n")
    with pytest.raises(
        ValueError, match="out had 8 bytes at the moment to resume from, and now it"
    ):
        LinesSink(tmp_path / "out").build_part("out", "lines", 8)
    assert (tmp_path / "out").read_bytes() == b"one\n"


def test_what_a_sink_cannot_be(tmp_path):
    for path in (tmp_path, tmp_path / "absent" / "out"):
        with pytest.raises(ValueError, match="path must be a file in a folder that is there, not"):
            LinesSink(path)


def copy(flow, paths, out, **options):
    raws = lines("read", flow, paths, **options)
    write_lines("write", op.map("value", raws, lambda raw: raw.value), out)


@pytest.mark.parametrize("batch_size", [1, 7, 1000])
def test_a_flow_over_files(tmp_path, batch_size):
    text = b"".join(b"%d\n" % i for i in range(100))
    (tmp_path / "a").write_bytes(text)
    flow = Dataflow("copy")
    copy(flow, tmp_path / "a", tmp_path / "out", batch_size=batch_size)
    run_main(flow)
    assert (tmp_path / "out").read_bytes() == text


def test_several_workers_write_to_one_file(tmp_path):
    for name in "abc":
        (tmp_path / name).write_text("".join(f"{name}{i}\n" for i in range(50)))
    flow = Dataflow("copy")
    copy(flow, [tmp_path / name for name in "abc"], tmp_path / "out", batch_size=7)
    cluster_main(flow, [], 0, worker_count_per_proc=3)
    written = (tmp_path / "out").read_text().splitlines()
    assert sorted(written) == sorted(f"{name}{i}" for name in "abc" for i in range(50))
    for name in "abc":
        own = [line for line in written if line[0] == name]
        assert own == [f"{name}{i}" for i in range(50)]


def test_encoded_records_are_written_without_their_keys(tmp_path, capsys):
    records = [Encoded(b"ann", b'{"a":1}'), b"two", Encoded(None, "ü".encode())]
    for path in (tmp_path / "out", "-"):
        flow = Dataflow("flow")
        write_lines("write", op.input("in", flow, TestingSource(records)), path)
        run_main(flow)
    assert (tmp_path / "out").read_text() == capsys.readouterr().out == '{"a":1}\ntwo\nü\n'


def test_a_run_that_writes_nothing_leaves_nothing_of_an_older_one(tmp_path):
    (tmp_path / "in").write_text("")
    for name in ("out", "other"):
        (tmp_path / name).write_text("of an older run\n")
    flow = Dataflow("copy")
    copy(flow, tmp_path / "in", tmp_path / "out")
    up = op.map("other", lines("again", flow, tmp_path / "in"), lambda raw: raw.value)
    write_lines("write_other", up, tmp_path / "other")
    run_main(flow)
    assert [(tmp_path / name).read_text() for name in ("out", "other")] == ["", ""]


def test_the_terminal_takes_nothing_back(capsys):
    part = LinesSink("-").build_part("out", "lines", 0)
    part.write_batch([b"one\n", b"\xff\n"])
    assert part.snapshot() == 0
    part.close()
    assert capsys.readouterr().out == "one\n\\xff\n"


def test_a_resumed_flow_reads_only_the_rest(tmp_path):
    store = tmp_path / "store"
    store.mkdir()
    init_db_dir(store, 1)
    (tmp_path / "a").write_text("".join(f"{i}\n" for i in range(10)))
    seen = []

    def run():
        flow = Dataflow("copy")
        raws = lines("read", flow, tmp_path / "a", batch_size=3)
        op.output("seen", raws, TestingSink(seen))
        write_lines("write", op.map("value", raws, lambda raw: raw.value), tmp_path / "out")
        run_main(
            flow,
            epoch_interval=timedelta(0),
            recovery_config=RecoveryConfig(str(store), backup_interval=timedelta(0)),
        )

    run()
    with (tmp_path / "a").open("a") as more:
        more.write("ten\n")
    seen.clear()
    run()
    assert [(raw.value, raw.offset) for raw in seen] == [(b"ten", 11)]
    assert (tmp_path / "out").read_text() == (tmp_path / "a").read_text()


SLOW = """
    import time
    import bytewax.operators as op
    from bytewax.dataflow import Dataflow
    from okl_flow.operators.files import lines, write_lines

    def value(raws):
        time.sleep(0.002)
        with open("read", "a") as out:
            out.write("".join(f"{raw.offset}\\n" for raw in raws))
        return [raw.value for raw in raws]

    flow = Dataflow("copy")
    raws = lines("in", flow, "a", batch_size=20)
    write_lines("write", op.flat_map_batch("value", raws, value), "out")
"""


def test_each_line_once_after_kills(tmp_path):
    """SIGKILL at seeded moments; afterwards the output is the input, and less was read anew."""
    count = 6_000
    (tmp_path / "flow.py").write_text(textwrap.dedent(SLOW))
    (tmp_path / "a").write_text("".join(f"{i} {'x' * (i % 50)}\n" for i in range(count)))
    (tmp_path / "store").mkdir()
    init_db_dir(tmp_path / "store", 1)
    path = os.pathsep.join([os.getcwd(), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, "-m", "bytewax.run", "flow", "-r", "store", "-s", "0", "-b", "0"]

    def start():
        return subprocess.Popen(command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": path})

    generator, kills = random.Random(6), 0
    written = 0
    while kills < 3 or not twice(tmp_path / "read"):
        process = start()
        goal = written + generator.randrange(1_000, 40_000)
        while process.poll() is None and size(tmp_path / "out") < goal:
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL, "it should have been killed on its way"
        written = size(tmp_path / "out")
        kills += 1
    process = start()
    assert process.wait(120) == 0
    assert (tmp_path / "out").read_bytes() == (tmp_path / "a").read_bytes()
    read = (tmp_path / "read").read_text().splitlines()
    assert count < len(read) < 1.5 * count


def size(path):
    return path.stat().st_size if path.exists() else 0


def twice(path):
    """How many of the lines are there again."""
    lines = path.read_text().splitlines()
    return len(lines) - len(set(lines))


def test_a_file_ends_early_when_the_process_is_to_end(file, request):
    request.addfinalizer(draining.reset)
    source = LinesSource(file(b"one\ntwo\nthree\n"), batch_size=1)
    first, state = drained(source, batches=1)
    draining.request()
    assert drained(source, state=state) == ([], state)
    draining.reset()
    rest, _state = drained(source, state=state)
    assert [raw.value for batch in first + rest for raw in batch] == [b"one", b"two", b"three"]
