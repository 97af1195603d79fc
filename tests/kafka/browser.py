"""A headless Chromium, and the page of a job in it."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.common.by import By

ROOT = Path(__file__).parents[2]
PATIENCE = 60.0
DESK, PHONE = (1280, 900), (390, 844)
TEXTS = """
return [...document.querySelectorAll(arguments[0])]
    .map(one => one.checkVisibility() ? one.innerText ?? one.textContent : "")
"""
_ARGUMENTS = (
    "--headless=new",
    "--no-sandbox",  # as root it has none
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--force-device-scale-factor=1",
)


def program(name, package):
    """Where a program is, or an error that says what to do."""
    found = shutil.which(name)
    if found is None:
        raise RuntimeError(
            f"The tests of the page need a browser, and there is no `{name}`. `make kafka` "
            f"installs it where apt-get and root allow; on Debian it is the package {package}"
        )
    return found


class Browser:
    """Chromium, driven by its own driver: nothing is downloaded."""

    def __init__(self, size=DESK):
        options = webdriver.ChromeOptions()
        options.binary_location = program("chromium", "chromium")
        for argument in _ARGUMENTS:
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        service = webdriver.ChromeService(program("chromedriver", "chromium-driver"))
        self.driver = webdriver.Chrome(options=options, service=service)
        self.look(size)

    def open(self, address):
        self.driver.get(address)

    def look(self, size=DESK, dark=False):
        """See the page in such a window, light or dark."""
        width, height = size
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)

    def picture(self, path, size=DESK, dark=False, whole=True):
        """A screenshot, of all of the page."""
        self.look(size, dark)
        time.sleep(0.5)
        if whole:
            height = self.run("return document.documentElement.scrollHeight")
            self.look((size[0], height), dark)
            time.sleep(0.5)
        self.driver.save_screenshot(str(path))
        self.look(size, dark)

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector):
        return self.until(lambda: self.all(selector), selector)[0]

    def click(self, selector, text=None):
        """Click on an element, or on that with a text; the page may just be drawing it anew."""

        def clicked():
            for one in self.all(selector):
                if text is None or one.text == text:
                    one.click()
                    return True
            return False

        self.until(clicked, f"{selector} {text}")

    def type(self, selector, text):
        self.one(selector).send_keys(text)

    def text(self, selector="body"):
        """What can be read there, at one moment: the page may draw it anew at any time."""
        return "\n".join(self.run(TEXTS, selector))

    def says(self, words, selector="body"):
        """Wait until a text is there."""
        self.until(lambda: words in self.text(selector), words)

    def until(self, is_so, what=""):
        end = time.monotonic() + PATIENCE
        while True:
            try:
                if found := is_so():
                    return found
            except WebDriverException:  # the page is just drawing it anew, or is another one
                pass
            assert time.monotonic() < end, f"{what} is not on the page:\n{self.text()}"
            time.sleep(0.05)

    def complaints(self):
        """What the browser has complained of since the last time."""
        return [one["message"] for one in self.driver.get_log("browser")]

    def close(self):
        self.driver.quit()


class Dashboard:
    """`okl-flow dashboard` as a process of its own."""

    def __init__(self, *words, folder=ROOT, port=0, **variables):
        clean = {name: value for name, value in os.environ.items() if not name.startswith("OKL_")}
        command = [sys.executable, "-m", "okl_flow.cli", "dashboard", "--port", str(port)]
        self.process = subprocess.Popen(
            [*command, *map(str, words)],
            cwd=folder,
            env={**clean, "PYTHONPATH": str(ROOT), **variables},
            stderr=subprocess.PIPE,
            text=True,
        )
        self.said = self.process.stderr.readline()
        found = re.search(r"http://localhost:(\d+)/", self.said)
        assert found, self.said + self.process.communicate()[1]
        self.address, self.port = found[0], int(found[1])

    def stop(self):
        """End it as Ctrl-C does; its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        try:
            self.said += self.process.communicate(timeout=PATIENCE)[1]
        finally:
            self.process.kill()
        return self.process.returncode
