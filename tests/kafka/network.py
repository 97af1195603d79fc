"""Two hosts as network namespaces, with a link between them and one from each to the broker's.

Needs root. The names and addresses are those of this process, so that tests may run side by side.
"""

import os
import subprocess
from contextlib import contextmanager

BROKER, OTHER = "eth-broker", "eth-other"  # in each of the two, the link to whom


class Network:
    """The broker's host is this one, at `broker`; the two others are at `hosts`."""

    def __init__(self, number):
        self._number = number
        self.names = [f"okl{number}{letter}" for letter in "ab"]
        self.outer = [f"oklv{number}{place}" for place in range(2)]  # ends of links on this host
        self.broker = self._address(0, 1)
        self.hosts = [self._address(1, 1), self._address(1, 2)]
        # Processes that have lost each other spin in the engine. Two of them, on all processors of
        # a machine, have kept threads of the kernel waiting for a minute, and all brokers too.
        one = ["taskset", "--cpu-list", str(min(os.sched_getaffinity(0)))]
        self.within = [["ip", "netns", "exec", name, *one] for name in self.names]

    def _address(self, net, host):
        return f"10.{100 + self._number // 125}.{2 * (self._number % 125) + net}.{host}"

    def make(self):
        bridge = f"oklb{self._number}"
        _ip("link", "add", bridge, "type", "bridge")
        _ip("address", "add", f"{self.broker}/24", "dev", bridge)
        _ip("link", "set", bridge, "up")
        for place, name in enumerate(self.names):
            _ip("netns", "add", name)
            _ip("-n", name, "link", "set", "lo", "up")
            outer = self.outer[place]
            _ip("link", "add", outer, "type", "veth", "peer", "name", BROKER, "netns", name)
            _ip("link", "set", outer, "master", bridge, "up")
            own = f"{self._address(0, 2 + place)}/24"
            _ip("-n", name, "address", "add", own, "dev", BROKER)
            _ip("-n", name, "link", "set", BROKER, "up")
        one, other = self.names
        _ip("-n", one, "link", "add", OTHER, "type", "veth", "peer", "name", OTHER, "netns", other)
        for name, host in zip(self.names, self.hosts, strict=True):
            _ip("-n", name, "address", "add", f"{host}/24", "dev", OTHER)
            _ip("-n", name, "link", "set", OTHER, "up")

    def cut(self, link=OTHER):
        """Nothing comes through any more: between the two, or from the second to the broker."""
        _ip("-n", self.names[1], "link", "set", link, "down")

    def mend(self, link=OTHER):
        """End of `cut`."""
        _ip("-n", self.names[1], "link", "set", link, "up")

    def remove(self):
        """Leave nothing behind.

        A namespace goes some time after it is deleted, and its links with it: those whose names the
        next network takes are deleted by themselves.
        """
        for outer in self.outer:
            _ip("link", "delete", outer, check=False)
        for name in self.names:
            _ip("netns", "delete", name, check=False)
        _ip("link", "delete", f"oklb{self._number}", check=False)


@contextmanager
def network():
    """A network that is there within a `with`."""
    made = Network(os.getpid() % 15_000)
    try:
        made.make()
        yield made
    finally:
        made.remove()


def _ip(*words, check=True):
    done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
    if check and done.returncode:
        raise RuntimeError(
            f"ip {' '.join(words)}: {done.stderr.strip()}; the tests with a network of their own "
            "need root, and CAP_NET_ADMIN and CAP_SYS_ADMIN in a container"
        )
