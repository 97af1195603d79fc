"""`okl-flow schema`."""

import json

import pytest

from okl_flow.wire.avro_records import KINDS, avro_schema
from okl_flow.wire.schema import RECORDS, schema_of


@pytest.mark.parametrize("record", [*RECORDS, "all"])
def test_a_schema_is_printed(call, record):
    result = call("schema", record)
    assert (result.exit_code, result.stderr) == (0, "")
    assert json.loads(result.stdout) == schema_of(record)


def test_all_are_printed_by_default(call):
    assert call("schema").stdout == call("schema", "all").stdout


def test_an_unknown_record_is_refused(refusal):
    assert "there is no record 'predictions'; did you mean 'prediction'" in str(
        refusal("schema", "predictions")
    )


@pytest.mark.parametrize("record", [*KINDS, "all"])
def test_a_schema_in_avro_is_printed(call, record):
    result = call("schema", record, "--avro")
    assert (result.exit_code, result.stderr) == (0, "")
    expected = avro_schema(list(KINDS) if record == "all" else [record])
    assert json.loads(result.stdout) == expected


def test_what_comes_in_has_no_schema_in_avro_of_ours(refusal):
    said = str(refusal("schema", "event", "--avro"))
    assert "there is no schema in Avro of 'event'; known: prediction, report, alarm, reject" in said
