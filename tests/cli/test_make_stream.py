"""`okl-flow make-stream`."""

import json
import sys

import numpy as np
import pytest

from okl_flow import streams
from okl_flow.wire import Columns, Decoder, Raw


def records(call, *words):
    result = call("make-stream", *words)
    assert (result.exit_code, result.stderr) == (0, "")
    return [json.loads(line) for line in result.stdout.splitlines()]


@pytest.mark.parametrize("name", ["rings", "rotating", "abrupt", "wandering", "waves"])
def test_a_stream_comes_out_as_it_is(name, call):
    X, y = getattr(streams, name)(25, dim=3, seed=2)
    made = records(call, name, "--events", "25", "--dim", "3", "--seed", "2")
    assert [one["features"] for one in made] == X.tolist()
    assert [one["label"] for one in made] == y.tolist()
    assert [one["id"] for one in made] == [f"e{number}" for number in range(1, 26)]


def test_chunks_leave_no_trace(call, monkeypatch):
    commands = [
        ("make-stream", "users", "--events", "300", "--keys", "7"),
        *(
            ("make-stream", "rings", "--events", "30", "--format", format)
            for format in ("jsonl", "csv", "libsvm")
        ),
    ]
    whole = [call(*words).stdout for words in commands]
    # The package has the command under the name of its module.
    monkeypatch.setattr(sys.modules["okl_flow.cli.make_stream"], "_CHUNK", 11)
    assert [call(*words).stdout for words in commands] == whole
    assert [text.count("\n") for text in whole[1:]] == [30, 31, 30]


def test_users_come_with_times_and_their_labels_when_they_are_known(call):
    made = streams.delayed_users(2000, users=9, delayed=0.4, missing=0.2, delay=5.0, seed=1)
    words = ["--events", "2000", "--keys", "9", "--delayed", "0.4", "--missing", "0.2"]
    found = records(call, "users", *words, "--delay", "5", "--seed", "1")
    times = [one["time"] for one in found]
    assert times == sorted(times)
    events = [one for one in found if "type" not in one]
    assert [one["time"] for one in events] == made.times.tolist()
    assert [one["key"] for one in events] == [streams.user_name(user) for user in made.users]
    known = [(one["id"], one["time"], one["label"]) for one in found if "label" in one]
    wanted = [
        (f"e{at + 1}", int(made.label_times[at]), int(made.y[at]))
        for at in np.flatnonzero(made.label_times >= 0)
    ]
    assert sorted(known) == sorted(wanted)
    seen = set()
    for one in found:
        assert one.get("type") != "label" or one["id"] in seen
        seen.add(one["id"])


def test_what_is_made_is_what_flows_read(call):
    lines = call("make-stream", "users", "--events", "200").stdout_bytes.splitlines()
    decoded, rejects = Decoder("json", Columns(2))([Raw(line) for line in lines])
    assert rejects == []
    assert len(decoded) == len(lines) > 200


def test_what_is_not_there_is_refused(refusal):
    assert "there is no stream 'ring'; did you mean 'rings'?" in refusal("make-stream", "ring")
    assert "there is no format 'xml'" in refusal("make-stream", "rings", "--format", "xml")
    assert "--keys is for users only" in refusal("make-stream", "rings", "--keys", "3")
    assert "labels of their own" in refusal("make-stream", "users", "--format", "csv")
    assert "--noise is a share" in refusal("make-stream", "rings", "--noise", "2")
