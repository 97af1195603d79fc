"""A process that has been asked to end."""

import bytewax.operators as op
import pytest
from bytewax.dataflow import Dataflow
from bytewax.testing import TestingSink, run_main

from okl_flow import draining
from okl_flow.operators import lines
from okl_flow.operators.files import LinesSource


@pytest.fixture(autouse=True)
def _taken_back():
    yield
    draining.reset()


@pytest.fixture
def path(tmp_path):
    (tmp_path / "a.jsonl").write_text("1\n2\n3\n")
    return tmp_path / "a.jsonl"


def test_files_end_where_they_were_read_to_and_go_on_from_there(path):
    source = LinesSource(path, batch_size=1)
    part = source.build_part("read", str(path), None)
    assert [raw.offset for raw in part.next_batch()] == [1]
    draining.request()
    with pytest.raises(StopIteration):
        part.next_batch()
    resumed = source.build_part("read", str(path), part.snapshot())
    draining.reset()
    assert [raw.offset for raw in resumed.next_batch()] == [2]
    part.close()
    resumed.close()


def test_a_flow_that_was_asked_before_it_began_reads_nothing(path):
    draining.request()
    flow, out = Dataflow("flow"), []
    op.output("out", lines("read", flow, path), TestingSink(out))
    run_main(flow)
    assert out == []
