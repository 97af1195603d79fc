"""The page's server on a port of its own, over files."""

import http.client
import json
import threading
import time

import pytest

from okl_flow.page.server import Server
from okl_flow.page.watching import Source, Watching
from okl_flow.wire import Encoder

PATIENCE = 30.0


class Page:
    """A running page, and the files that it follows."""

    def __init__(self, folder, token=None, host="127.0.0.1"):
        self.files = {name: folder / f"{name}.jsonl" for name in ("reports", "alarms", "rejects")}
        self.watching = Watching(Source([str(path) for path in self.files.values()]))
        self.server = Server(self.watching, host, 0, token)
        self._thread = threading.Thread(target=self.server.run)
        self.watching.start()
        self._thread.start()
        self.name = f"127.0.0.1:{self.server.port}"
        self.until(lambda: self.ask("/static/style.css").status == 200)

    def ask(self, path, method="GET", body=None, **headers):
        """The answer to a request, with its text as `text`."""
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=PATIENCE)
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            connection.request(method, path, body, {"Host": self.name, **given})
            answer = connection.getresponse()
            answer.text = answer.read().decode()
            return answer
        finally:
            connection.close()

    def json(self, path, **headers):
        answer = self.ask(path, **headers)
        assert answer.status == 200, answer.text
        return json.loads(answer.text)

    def write(self, name, *records):
        with self.files[name].open("ab") as file:
            file.writelines(one.value + b"\n" for one in Encoder()(records))

    @staticmethod
    def until(is_so):
        end = time.monotonic() + PATIENCE
        while True:
            try:
                if found := is_so():
                    return found
            except ConnectionError:
                pass
            assert time.monotonic() < end
            time.sleep(0.02)

    def stop(self):
        self.server.stop()
        self._thread.join()
        self.watching.stop()


@pytest.fixture
def serve(tmp_path):
    """Start pages, which end with the test."""
    started = []

    def begin(**settings):
        started.append(Page(tmp_path, **settings))
        return started[-1]

    yield begin
    for one in started:
        one.stop()
