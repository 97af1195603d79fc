"""The page over HTTP: what it answers, whom, and with which rules for browsers."""

import re
from pathlib import Path

import pytest

import okl_flow.page
from tests.page.records import STEP, alarm, key, reject, stream

STATIC = Path(okl_flow.page.__file__).parent / "static"
TOKEN = "correct horse battery"
HOSTILE = '<img src=x onerror="alert(1)">'


def streams(page, **headers):
    return page.json("/api/now", **headers).get("streams")


def test_what_a_job_writes_is_told_once(serve):
    page = serve()
    page.write("reports", stream(1000), key(HOSTILE, 10))
    page.write("alarms", alarm(HOSTILE))
    page.write("rejects", reject(key=HOSTILE))
    now = page.until(lambda: (now := page.json("/api/now"))["records"] == 4 and now)
    assert now["streams"][0]["values"]["mistake_rate"] == 0.1
    assert now["keys"]["steps"][STEP]["worst"][0]["name"] == HOSTILE
    assert now["standing"]["kind"] == "files"
    assert {one["partitions"] for one in now["standing"]["sources"]} <= {0, 1}
    seen = f"/api/now?instance={now['instance']}&since={now['revision']}"
    assert not {"streams", "keys", "alarms", "rejects"} & page.json(seen).keys()
    assert "streams" in page.json("/api/now?instance=another&since=9999"), "after a restart: all"
    page.write("reports", stream(2000, 0.05))
    more = page.until(lambda: (now := page.json(seen)).get("streams") and now)
    assert more["streams"][0]["events"] == 3000
    assert "alarms" not in more


def test_what_changes_right_after_an_answer_is_told_by_one_of_the_next(serve):
    page = serve()
    query = ""
    for labelled in range(1000, 9000, 1000):
        page.write("reports", stream(labelled))

        def arrived(labelled=labelled):
            nonlocal query
            now = page.json(f"/api/now?{query}")
            query = f"instance={now['instance']}&since={now['revision']}"
            told = now.get("streams")
            return told and told[0]["values"]["labelled"] == labelled

        page.until(arrived)


def test_curves_keys_and_one_key_are_answered(serve):
    page = serve()
    page.write("reports", stream(1000), stream(2000), key("ann", 10), key(HOSTILE, 20))
    page.until(lambda: page.json("/api/now")["records"] == 4)
    curve = page.json(f"/api/curves?of=stream&step={STEP}&figure=mistake_rate&after=0&epoch=-1")
    assert [row[1] for row in curve["rows"]] == [1000, 2000]
    found = page.json(f"/api/keys?step={STEP}&text=%3Cimg")
    assert [one["name"] for one in found["keys"]] == [HOSTILE]
    assert page.json("/api/key?name=ann")["steps"][0]["values"]["labelled"] == 10
    for strange in ("after=x", "after=1e9&epoch=--", "after=" + "9" * 400, "figure=" + "x" * 9000):
        assert page.ask(f"/api/curves?of=stream&step={STEP}&{strange}").status == 200


def test_records_that_are_none_are_counted(serve):
    page = serve()
    page.files["reports"].write_text('{"type": "report"}\nnonsense\n[[[[\n')
    page.write("reports", stream(1000))
    now = page.until(lambda: (now := page.json("/api/now")).get("streams") and now)
    [(what, count)] = now["left_out"].items()
    assert (count, "neither JSON nor MessagePack" in what) == (3, True)


def test_every_answer_forbids_what_the_page_does_not_need(serve):
    page = serve(token=TOKEN)
    for path in ("/", "/static/main.js", "/api/now", "/nowhere"):
        policy = page.ask(path).headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self';" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert page.ask(path).headers["x-content-type-options"] == "nosniff"


def test_nothing_is_fetched_from_elsewhere_and_no_text_becomes_markup():
    files = [path for path in STATIC.rglob("*") if path.suffix in (".js", ".html", ".css", ".svg")]
    assert len(files) > 5
    for path in files:
        text = path.read_text()
        addresses = set(re.findall(r"(?:https?:)?//[\w.-]+\.\w+", text))
        assert addresses <= {"http://www.w3.org"}, path
        for word in (
            "innerHTML",
            "outerHTML",
            "insertAdjacent",
            "document.write",
            "eval(",
            "srcdoc",
        ):
            assert word not in text, f"{word} in {path}"
        if path.suffix == ".html":
            assert not re.search(r"<script(?![^>]*src=)|<style| on\w+=| style=", text), path


def test_without_a_token_foreign_names_of_this_machine_are_refused(serve):
    page = serve()
    for host in ("localhost:1", "127.0.0.1", f"[::1]:{page.server.port}", "LOCALHOST"):
        assert page.ask("/api/now", Host=host).status == 200
    for host in ("evil.example", "evil.example:8765", "localhost.evil.example", ""):
        assert page.ask("/api/now", Host=host).status in (400, 421)


def test_a_token_is_asked_for_everywhere_but_in_files_without_data(serve):
    page = serve(token=TOKEN)
    page.write("reports", stream(1000))
    first = page.ask("/")
    assert (first.status, "wants a token" in first.text) == (401, True)
    for path in ("/api/now", "/api/curves", "/api/keys", "/api/key?name=ann", "/nowhere"):
        assert page.ask(path).status == 401, path
        assert page.ask(path, Authorization="Bearer correct horse").status == 401
        assert page.ask(path, Cookie=f"okl_flow_page_{page.server.port}={TOKEN}").status == 401
    assert page.ask("/static/style.css").status == 200
    assert page.json("/api/now", Authorization=f"Bearer {TOKEN}")
    assert page.json("/api/now", Authorization=f"Bearer {TOKEN}", Host="any.name.example")


@pytest.mark.parametrize("way", ["address", "form"])
def test_the_token_buys_a_cookie_that_does_not_tell_it(serve, way):
    page = serve(token=TOKEN)
    quoted = TOKEN.replace(" ", "+")

    def enter(token):
        if way == "address":
            return page.ask(f"/?token={token}")
        return page.ask("/login", "POST", f"token={token}")

    for wrong in ("", "wrong", quoted[:-1], quoted + "x", "%ff%00"):
        refused = enter(wrong)
        assert "set-cookie" not in refused.headers
        assert (refused.status, refused.headers["location"]) == (303, "/?wrong")
    let_in = enter(quoted)
    assert (let_in.status, let_in.headers["location"]) == (303, "/")
    cookie = let_in.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "samesite=lax" in cookie.lower()
    assert TOKEN not in cookie and quoted not in cookie
    assert page.json("/api/now", Cookie=cookie.partition(";")[0])
    assert "okl_flow" in page.ask("/", Cookie=cookie.partition(";")[0]).text


def test_a_huge_form_is_no_trouble(serve):
    page = serve(token=TOKEN)
    assert page.ask("/login", "POST", "token=" + "x" * 100_000).status == 303
    assert page.ask("/login", "POST", b"\xff\xfe=&&&=%%%").status == 303
