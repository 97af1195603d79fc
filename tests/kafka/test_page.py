"""The live page in a browser, over the topics of a real broker."""

import re

import pytest

from okl_flow.events import Reason
from okl_flow.wire import Encoder
from tests.kafka.browser import DESK, PHONE, Browser, Dashboard
from tests.kafka.flows import unique
from tests.kafka.judge import make_topic, write
from tests.page.records import alarm, chosen, key, partition, reject, stream
from tests.running.conftest import start  # noqa: F401  (a fixture)

TOKEN = "let me in please"
HOSTILE = (
    "<img src=x onerror=\"document.title='owned'\">",
    '"><svg/onload=document.title="owned">',
    "<script>document.title='owned'</script>",
    "javascript:document.title='owned'",
    "\u202egnp.exe\u0000\u200b",
    "&lt;b&gt;" + "long" * 200,
)
KINDS = ("reports", "alarms", "rejects")


@pytest.fixture(scope="module")
def shared_browser():
    """One Chromium for the tests of this file: it takes a second to start."""
    browser = Browser()
    yield browser
    browser.close()


@pytest.fixture
def browser(shared_browser):
    """A browser without cookies, whose complaints are this test's."""
    shared_browser.driver.delete_all_cookies()
    shared_browser.look(DESK)
    shared_browser.complaints()
    yield shared_browser
    shared_browser.open("about:blank")


@pytest.fixture
def serve():
    """Start dashboards, which end with the test."""
    started = []

    def begin(*words, **settings):
        started.append(Dashboard(*words, **settings))
        return started[-1]

    yield begin
    for one in started:
        one.stop()


class Topics:
    """The topics of a job, written by hand."""

    def __init__(self, broker, made=KINDS):
        self.broker = broker
        self.events = unique("incoming")
        for kind in made:
            self.make(kind)

    def make(self, kind):
        make_topic(self.broker, f"{self.events}.{kind}", 2)

    def write(self, kind, *records, format="json"):
        pairs = [(one.key, one.value) for one in Encoder(format)(records)]
        write(self.broker, f"{self.events}.{kind}", pairs)

    @property
    def words(self):
        return ("--brokers", self.broker, "--events", self.events)


@pytest.fixture
def topics(broker):
    return Topics(broker)


def history(topics):
    """A job that has been running for a while."""
    reports = [stream(1000 * n, 0.3 / n**0.5) for n in range(1, 30)]
    reports += [key(f"user-{n:03d}", 40 * n, 0.9 / n) for n in range(1, 60)]
    reports.append(chosen("user-007", 300, bandwidth=0.548))
    counted = {"mistakes_linear": 3000, "mistakes_kernel": 1500}
    reports += [partition(f"p{n:03d}", labelled=10_000, **counted) for n in range(3)]
    topics.write("reports", *reports)
    topics.write("alarms", alarm("user-007", 5), alarm("", 6, message="the stream's error rose"))
    topics.write("alarms", alarm("user-009", 7, "promotion", "kernel takes over", "kernel"))
    topics.write("rejects", reject(message="expected 2 numbers, found 3", key="user-007"))


def test_a_job_is_shown_and_a_key_chosen_and_searched_for(topics, serve, browser):
    history(topics)
    browser.open(serve(*topics.words).address)
    browser.says("shop", "h1")
    browser.says("5.6 %", "#tiles")
    browser.says("59", "#keys-count")
    assert browser.one("#error-chart path.line")
    browser.until(lambda: len(browser.all("#error-chart .frame .mark")) == 1, "the alarm")
    assert browser.text("#contest td").count("kernel") == 1
    browser.says("15.0 %", "#contest")
    browser.says("2 drift, 1 promotion", "#alarms-count")
    assert browser.text("#keys tbody tr:first-child").startswith("user-00")
    browser.click("[data-list=busiest]")
    browser.says("user-059", "#keys tbody tr:first-child")
    browser.type("#search", "r-007")
    browser.says("1 key", "#found")
    browser.click("#keys .key", "user-007")
    browser.says("bandwidth", "#key")
    browser.says("0.548", "#key")
    browser.says("280", "#key")
    browser.says("drift", "#key .happenings")
    assert browser.run("return location.hash") == "#key=user-007"
    browser.click("#rejects summary")
    browser.says("expected 2 numbers, found 3", "#rejects")
    browser.click("#key-close")
    browser.says("Choose a key", "#key")
    assert browser.complaints() == []


def test_the_page_follows_the_job(topics, serve, browser):
    topics.write("reports", stream(1000, 0.3))
    browser.open(serve(*topics.words).address)
    browser.says("30.0 %", "#tiles")
    topics.write("reports", stream(2000, 0.25), format="msgpack")
    browser.says("25.0 %", "#tiles")
    topics.write("alarms", alarm("ann", 9, message="the error of ann rose"))
    browser.says("the error of ann rose", "#alarms")
    topics.write("rejects", reject(Reason.MALFORMED, original=b"\xff{not json"))
    browser.says("malformed", "#rejects")
    browser.click("#rejects summary")
    browser.says("\\xff{not json", "#rejects pre")
    topics.write("rejects", reject(Reason.MALFORMED, "and another"))
    browser.says("and another", "#rejects details[open]")  # it stays open
    assert browser.complaints() == []


def test_a_chart_is_read_by_the_keyboard(topics, serve, browser):
    history(topics)
    browser.open(serve(*topics.words).address)
    browser.says("shop", "h1")
    browser.run("document.querySelector('#error-chart .frame').focus()")
    browser.type("#error-chart .frame", "\ue011")  # Home
    browser.says("30.0 %", "#error-chart .readout")
    browser.type("#error-chart .frame", "\ue014")  # to the right
    browser.says("21.2 %", "#error-chart .readout")
    assert "5.6 %" in browser.one("#error-chart .frame").get_attribute("aria-label")


def test_nothing_typed_by_a_producer_is_more_than_text(topics, serve, browser):
    reports = [stream(1000), *(key(one, 100) for one in HOSTILE)]
    reports.append(stream(500, step=f"{HOSTILE[0]}.evaluate"))
    reports.append(chosen(HOSTILE[0], 7, **{HOSTILE[1]: 0.5}))
    counted = {f"mistakes_{one}": 1 for one in HOSTILE}
    reports.append(partition(HOSTILE[0], labelled=10, **counted))
    topics.write("reports", *reports)
    topics.write(
        "alarms", *(alarm(one, n, one, f"rose {one}", one) for n, one in enumerate(HOSTILE))
    )
    topics.write(
        "rejects", *(reject(message=one, original=one.encode(), key=one) for one in HOSTILE)
    )
    browser.open(serve(*topics.words).address)
    browser.says("shop.evaluate", "#step")
    browser.run(
        "const one = document.getElementById('step'); one.value = 'shop.evaluate';"
        "one.dispatchEvent(new Event('change'))"
    )
    for place in ("#keys", "#alarms"):
        browser.says(HOSTILE[0], place)
    browser.click("#rejects summary")
    browser.says(HOSTILE[2], "#rejects")
    browser.says("\\u202egnp.exe\\u0000\\u200b", "#keys")
    browser.says(HOSTILE[1], "#contest")
    for name in HOSTILE[:3]:
        browser.click("#keys .key", name)
        browser.says(name, ".name-of-key")
    browser.driver.refresh()
    browser.says(HOSTILE[2], ".name-of-key")
    assert len(browser.all("img")) == 1  # our own
    assert browser.all("body script, svg[onload], [onerror], iframe") == []
    assert "owned" not in browser.driver.title
    assert browser.complaints() == []
    assert browser.run("return document.documentElement.scrollWidth") <= DESK[0]


def test_a_browser_would_refuse_a_script_that_came_in_all_the_same(topics, serve, browser):
    browser.open(serve(*topics.words).address)
    browser.says("no record yet", "#status")
    refused = browser.run(
        "try { document.body.innerHTML = '<b>x</b>'; return 'taken' } catch (error) "
        "{ return String(error) }"
    )
    assert "TrustedHTML" in refused
    browser.run(
        "const one = document.createElement('img'); one.src = 'https://example.org/x.png';"
        "document.body.append(one)"
    )
    browser.until(lambda: any("Content Security Policy" in one for one in browser.complaints()))


def test_what_is_missing_is_waited_for_and_said(broker, serve, browser):
    topics = Topics(broker, made=("alarms",))
    browser.open(serve(*topics.words).address)
    for kind in ("reports", "rejects"):
        browser.says(f"The topic {topics.events}.{kind} is not there yet", "#notices")
    for kind in ("reports", "rejects"):
        topics.make(kind)
    topics.write("reports", stream(1000, 0.3))
    browser.says("30.0 %", "#tiles")
    browser.until(lambda: browser.text("#notices") == "")


def test_a_broker_that_goes_is_missed_and_welcomed_back(cluster, serve, browser):
    topics = Topics(cluster.bootstrap)
    topics.write("reports", stream(1000, 0.3))
    browser.open(serve(*topics.words).address)
    browser.says("30.0 %", "#tiles")
    cluster.brokers[0].kill()
    browser.says(f"No broker of {cluster.bootstrap} answers", "#notices")
    cluster.restart()
    topics.write("reports", stream(2000, 0.25))
    browser.says("25.0 %", "#tiles")
    browser.until(lambda: browser.text("#notices") == "")


def test_the_page_finds_its_server_again(topics, serve, browser):
    topics.write("reports", stream(1000, 0.3))
    first = serve(*topics.words)
    browser.open(first.address)
    browser.says("30.0 %", "#tiles")
    assert first.stop() == 130, first.said
    browser.says("does not answer", "#notices")
    assert "30.0 %" in browser.text("#tiles"), "what was known stays"
    topics.write("reports", stream(2000, 0.25))
    serve(*topics.words, port=first.port)
    browser.says("25.0 %", "#tiles")
    browser.until(lambda: browser.text("#notices") == "")


def test_without_the_token_there_is_nothing_to_see(topics, serve, browser):
    topics.write("reports", stream(1000, 0.3))
    page = serve(*topics.words, OKL_DASHBOARD_TOKEN=TOKEN)
    assert TOKEN not in page.said
    browser.open(page.address)
    browser.says("This page wants a token")
    browser.type("#token", "let me in\n")
    browser.says("That was not the token.")
    browser.type("#token", f"{TOKEN}\n")
    browser.says("30.0 %", "#tiles")
    browser.driver.delete_all_cookies()
    browser.says("This page wants a token")
    browser.open(f"{page.address}?token={TOKEN}#key=ann")
    browser.says("30.0 %", "#tiles")
    assert "let me" not in browser.driver.current_url


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_it_is_readable_light_and_dark_on_a_desk_and_on_a_phone(
    size, dark, topics, serve, browser, tmp_path
):
    history(topics)
    browser.look(size, dark)
    browser.open(f"{serve(*topics.words).address}#key=user-007")
    browser.says("bandwidth", "#key")
    browser.picture(tmp_path / "page.png", size, dark)
    assert (tmp_path / "page.png").stat().st_size > 20_000
    assert browser.run("return document.documentElement.scrollWidth") <= size[0]
    paper = luminance(browser.run("return getComputedStyle(document.body).backgroundColor"))
    assert (paper < 0.1) == dark
    faint = browser.run(CONTRASTS)
    assert len(faint) > 50
    for text, ink, paper in faint:
        assert contrast(ink, paper) >= 4.5, (text, ink, paper)


CONTRASTS = """
const found = [];
const clear = 'rgba(0, 0, 0, 0)';
for (const one of document.querySelectorAll('main *, header *, footer *')) {
  const own = [...one.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE);
  const text = own.map((node) => node.data).join('').trim();
  if (!text || !one.checkVisibility() || one.closest('option')) continue;
  const style = getComputedStyle(one);
  let under = one;
  while (under && getComputedStyle(under).backgroundColor === clear) under = under.parentElement;
  const paper = getComputedStyle(under ?? document.body).backgroundColor;
  found.push([text, one.namespaceURI.endsWith('svg') ? style.fill : style.color, paper]);
}
return found;
"""


def luminance(color):
    """How light a colour is, as WCAG has it."""
    parts = [int(one) / 255 for one in re.findall(r"\d+", color)[:3]]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_a_running_job_is_shown_with_its_lag(broker, serve, browser, start, tmp_path):  # noqa: F811
    events, name = unique("incoming"), unique("live")
    make_topic(broker, events, 2)
    run = start(
        "dataflows.per_user:flow",
        *("--brokers", broker, "--create-topics", 2, "--recovery-dir", "recovery"),
        *("--epoch", 0.5),
        OKL_EVENTS=events,
        OKL_NAME=name,
        OKL_LEARNER="kogd budget=20 bandwidth=0.5",
    )
    run.started()
    (tmp_path / "job.toml").write_text(
        f'flow = "dataflows.per_user:flow"\n[source]\nbrokers = "{broker}"\nevents = "${{WHAT}}"\n'
    )
    browser.open(serve("job.toml", folder=tmp_path, WHAT=events).address)
    browser.says("no record yet", "#status")
    records = (
        b'{"key": "user-%d", "features": [0.5, %d], "label": %d}' % (n % 9, n % 2, 2 * (n % 2) - 1)
        for n in range(6000)
    )
    write(broker, events, [(b"%d" % (n % 9), one) for n, one in enumerate(records)])
    browser.says(name, "h1")
    browser.says("5,000", "#tiles")  # the rest waits for the next report
    browser.says("all is read", "#tiles")
    browser.says(f"{name}.read", "#pace-note")
