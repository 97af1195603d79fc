"""Records as a job writes them, made up for the page."""

from okl_flow.events import Alarm, Cause, Reason, Reject, Report

STEP = "shop.evaluate"
BEGIN = 1_790_000_000_000  # milliseconds since 1970


def stream(labelled, rate=0.1, step=STEP, **more):
    values = {
        "labelled": float(labelled),
        "mistake_rate": rate,
        "baseline_mistake_rate": 0.45,
        "loss": 2 * rate,
        "mistake_rate_low": 0.8 * rate,
        "mistake_rate_high": 1.2 * rate,
        "window_mistake_rate": rate,
        "window_baseline_mistake_rate": 0.45,
        "window_mistake_rate_low": 0.7 * rate,
        "window_mistake_rate_high": 1.3 * rate,
        "window_labelled": 1000.0,
        **more,
    }
    return Report(step, "stream", "", int(1.5 * labelled), values, cause(labelled), labelled)


def key(name, labelled, rate=0.1, step=STEP, at=None, **more):
    low, high = (None, None) if rate is None else (0.8 * rate, 1.2 * rate)
    values = {
        "labelled": float(labelled),
        "mistake_rate": rate,
        "baseline_mistake_rate": 0.4,
        "mistake_rate_low": low,
        "mistake_rate_high": high,
        "fading_mistake_rate": rate,
        "fading_baseline_mistake_rate": 0.4,
        **more,
    }
    place = cause(labelled if at is None else at)
    return Report(step, "key", name, int(labelled), values, place, labelled)


def regression(labelled, rmse=2.0):
    values = {
        "labelled": float(labelled),
        "rmse": rmse,
        "mae": rmse / 2,
        "rmse_low": rmse - 0.5,
        "rmse_high": rmse + 0.5,
        "window_rmse": rmse,
        "window_baseline_rmse": 3.0,
    }
    return Report(STEP, "stream", "", labelled, values, cause(labelled))


def chosen(name, events, step="shop.learn", **values):
    return Report(step, "key", name, events, values, cause(events), events, 1)


def partition(name, step="shop.learn", **values):
    numbers = {one: float(value) for one, value in values.items()}
    return Report(step, "partition", name, 100, numbers, cause(1))


def alarm(name="", at=0, kind="drift", message="it rose", learner=None, step=STEP):
    subject = "key" if name else "stream"
    return Alarm(step, subject, name, kind, message, {}, cause(at), at, learner=learner)


def reject(reason=Reason.FEATURES, message="expected 2 numbers", original=None, key=None, at=0):
    return Reject(reason, message, cause(at), key=key, original=original)


def cause(offset):
    return Cause("events", 0, int(offset))
