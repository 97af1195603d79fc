"""The stream of many users as records of docs/events.md, in the order in which they come."""

from collections.abc import Iterator

import msgspec
import numpy as np

from okl_flow.replay import Message
from okl_flow.streams import DelayedUsers, user_name

__all__ = ["messages_of_users"]


def messages_of_users(made: DelayedUsers, chunk: int) -> Iterator[tuple[int, list[Message]]]:
    """Events and labels in the order of their times; of the same time, events first.

    They come so many messages at a time, each time with the number of events among them.

    >>> from okl_flow.streams import delayed_users
    >>> [(events, messages)] = messages_of_users(delayed_users(3, users=1, delayed=1.0), 10)
    >>> events, [message.key for message in messages][:1], messages[0].value[:34]
    (3, [b'user-000000'], b'{"key":"user-000000","id":"e1","ti')
    """
    encode = msgspec.json.Encoder().encode
    later = np.flatnonzero(made.label_times > made.times)
    count = made.times.shape[0]
    which = np.concatenate([np.arange(count), later])  # the event that each record is about
    is_label = np.arange(which.shape[0]) >= count
    times = np.where(is_label, made.label_times[which], made.times[which])
    order = np.lexsort((which, is_label, times))
    labels = made.y.astype(int)
    for begin in range(0, order.shape[0], chunk):
        here = order[begin : begin + chunk]
        about, labelling = which[here], is_label[here]
        known = labelling | (made.label_times[about] == made.times[about])
        messages = []
        for event, user, time, row, label, tells, knows in zip(
            about.tolist(),
            made.users[about].tolist(),
            times[here].tolist(),
            made.X[about].tolist(),
            labels[about].tolist(),
            labelling.tolist(),
            known.tolist(),
            strict=True,
        ):
            record = {"key": user_name(user), "id": f"e{event + 1}", "time": time}
            if tells:
                record = {"type": "label", **record}
            else:
                record["features"] = row
            if knows:
                record["label"] = label
            messages.append(Message(record["key"].encode(), encode(record)))
        yield int(np.sum(~labelling)), messages
