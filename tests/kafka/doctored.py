"""A job's topics for the tests of `okl-flow doctor` with a real broker."""

import json

from tests.doctor.looked import examined
from tests.kafka.flows import unique
from tests.kafka.judge import make_topic, write

KINDS = ("predictions", "reports", "alarms", "rejects")


def event(key, number, **more):
    return json.dumps({"key": key, "id": f"e{number}", "features": [0.5, number], **more}).encode()


class Topics:
    """The topics of a job, with some events."""

    def __init__(self, bootstrap, partitions=2, replicas=1, events=20, **settings):
        self.bootstrap, self.name = bootstrap, unique("job")
        make_topic(bootstrap, self.name, partitions, replicas, **settings)
        self.outputs = [f"{self.name}.{kind}" for kind in KINDS]
        for topic in self.outputs:
            make_topic(bootstrap, topic, 1, replicas)
        if events:
            write(
                bootstrap,
                self.name,
                [(b"user%d" % (n % 5), event(f"user{n % 5}", n)) for n in range(events)],
            )

    def examined(self, folder, brokers=None, **settings):
        given = {"brokers": brokers or self.bootstrap, "events": self.name, "name": self.name}
        return examined(folder.path, **{**given, "delivery": "exactly_once", **settings})


def config(folder, settings):
    path = folder.path / "client.properties"
    path.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    return path
