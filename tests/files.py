"""Files as they are written and read in tests, and what they are refused for."""

import gzip

import numpy as np
import pytest

from okl_flow.files import DataError, open_source
from okl_flow.labels import LabelCoder

TEXTS = {
    "a.libsvm": "# made by hand\n+1 1:0.5 3:-2\n\n-1\n"
    "nan 1:1e-3 2:7 # no label\n  -1 1:3 2:.25 3:1.5\n",
    "a.csv": "p,label,q,r\n0.5,1,0,-2\n0, -1 ,0,0\n1e-3,,7,0\n3,-1.0,.25,1.5\n",
    "flat.jsonl": '{"p":0.5,"label":1,"q":0,"r":-2}\n{"label":-1,"r":0,"q":0,"p":0}\n\n'
    '{"p":1e-3,"q":7,"r":0,"label":null}\n{"p":3,"q":0.25,"r":1.5,"label":-1}\n',
    "list.jsonl": '{"id":"a","features":[0.5,0,-2],"label":1}\n{"features":[0,0,0],"label":-1}\n'
    '{"features":[1e-3,7,0],"label":null}\n{"label":-1,"features":[3,0.25,1.5]}\n',
    "named.ndjson": '{"features":{"p":0.5,"q":0,"r":-2},"label":1}\n'
    '{"features":{"r":0,"q":0,"p":0},"label":-1}\n'
    '{"features":{"p":1e-3,"q":7,"r":0},"label":null}\n'
    '{"features":{"p":3,"q":0.25,"r":1.5},"label":-1}\n',
}
FLAT, LIST, NAMED = (
    '{"p":1,"q":2,"label":1}\n',
    '{"features":[1,2],"label":1}\n',
    '{"features":{"p":1,"q":2},"label":1}\n',
)


def written(folder, name, text):
    path = folder / name
    data = text if isinstance(text, bytes) else text.encode()
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return str(path)


def read(source, task="binary", labels=None, size=1000):
    batches = list(source.batches(LabelCoder.of(task, labels), size))
    return np.concatenate([X for X, _ in batches]), np.concatenate([y for _, y in batches])


def refusal(folder, name, text, *, task="binary", **options):
    """What a file is refused for, without its path."""
    path = written(folder, name, text)
    with pytest.raises(DataError) as caught:
        source = open_source(path, **options)
        source.scan()
        read(source, task)
    message = str(caught.value)
    assert message.startswith(path)
    return message.removeprefix(path).removeprefix(", ").removeprefix(": ")
