"""What the demonstration sends."""

import json
from collections import Counter

from typer.testing import CliRunner

from okl_flow.cli import app
from okl_flow.demo.stream import Stream
from okl_flow.wire import Columns, Decoder, Raw


def test_it_is_the_stream_of_users_with_damage_in_between():
    stream = Stream(events=2000, keys=20, seed=3)
    words = ["make-stream", "users", "--events", "2000", "--keys", "20", "--seed", "3"]
    lines = CliRunner().invoke(app, words).stdout.encode().splitlines()
    sent = [message.value for message in stream.messages]
    damaged = sent[99::100]
    whole = [value for at, value in enumerate(sent) if at % 100 != 99]
    assert whole == lines
    assert len(damaged) == len(sent) // 100 > 20


def test_damage_is_of_four_kinds_and_belongs_to_the_user_before():
    stream = Stream(events=5000, keys=20, seed=0)
    kinds = Counter()
    decode = Decoder("json", Columns(2))
    for before, message in zip(stream.messages[98::100], stream.messages[99::100], strict=False):
        assert message.key == before.key
        items, refused = decode([Raw(message.value, message.key)])
        if refused:
            kinds[refused[0].reason.value] += 1
        elif "type" in json.loads(message.value):
            assert message == before
            kinds["label again"] += 1
        else:
            assert items[0].label == 7.0
            kinds["label"] += 1
    assert set(kinds) == {"malformed", "features", "label", "label again"}
    assert min(kinds.values()) >= 10


def test_every_event_has_an_id_and_every_fifth_user_changes():
    stream = Stream(events=3000, keys=20, seed=0)
    records = [json.loads(line) for line in (m.value for m in stream.messages) if _is_whole(line)]
    events = {one["id"] for one in records if "features" in one}
    assert events == set(stream.ids)
    assert stream.changing == {f"user-{number:06d}" for number in (4, 9, 14, 19)}


def _is_whole(line):
    return line.endswith(b"}")
