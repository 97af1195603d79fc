"""Records as plain tuples, which compare where arrays and NaN do not."""

import msgspec
import numpy as np


def plain(record):
    fields = msgspec.structs.asdict(record)
    if "features" in fields:
        features = fields["features"]
        assert features.dtype == np.float64 and features.ndim == 1
        fields["features"] = features.tobytes()
    return type(record).__name__, fields


def one(decoder, raw):
    """What becomes of one record."""
    records, rejects = decoder([raw])
    [outcome] = [*records, *rejects]
    return outcome
