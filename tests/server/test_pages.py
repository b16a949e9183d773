"""The pages for people: what is served, under which headers, and that nothing else is."""

import gzip
import re
from importlib.resources import files
from pathlib import Path

import aiohttp
import pytest
from yarl import URL

from abr_tts.errors import ConfigError
from abr_tts.server.watching.pages import CSP, TYPES, Pages

from .harness import serving, serving_in_a_thread

STATIC = Path(str(files("abr_tts").joinpath("web", "static")))
SERVED = sorted(
    str(path.relative_to(STATIC)) for path in STATIC.rglob("*") if path.is_file() and path.suffix[1:] in TYPES
)
PAGES = {"": "index.html", "ops": "ops.html", "favicon.ico": "favicon.svg"}
SAFE = {
    "Content-Security-Policy": CSP,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}


@pytest.fixture(scope="module")
def server():
    with serving_in_a_thread() as server:
        yield server


async def get(server, path: str, method: str = "GET", **headers):
    """(status, headers, body as it came) of a path that no client tidies up."""
    url = URL(f"{server.http_url}/{path}", encoded=True)
    async with (
        aiohttp.ClientSession(auto_decompress=False) as http,
        http.request(method, url, headers={"Accept-Encoding": ""} | headers) as answer,
    ):
        return answer.status, answer.headers, await answer.read()


async def test_every_file_of_the_folder_is_served_as_what_it_is(server):
    assert {"player.js", "opus.wasm", "demo/main.js", "ops/main.js", "demo/look.css"} <= set(SERVED)
    for name in SERVED:
        status, headers, body = await get(server, f"static/{name}")
        assert (status, body) == (200, (STATIC / name).read_bytes()), name
        assert headers["Content-Type"] == TYPES[name.rpartition(".")[2]], name
        assert headers.items() >= SAFE.items() and headers["Cache-Control"] == "no-cache", name


@pytest.mark.parametrize("path", PAGES)
async def test_the_pages_have_short_addresses(server, path):
    status, headers, body = await get(server, path)
    assert (status, body) == (200, (STATIC / PAGES[path]).read_bytes())
    assert headers.items() >= SAFE.items()


async def test_the_policy_of_content_is_the_promised_one(server):
    _, headers, _ = await get(server, "")
    policy = headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; ")
    assert "unsafe-inline" not in policy and "unsafe-eval" not in policy.replace("wasm-unsafe-eval", "")


@pytest.mark.parametrize("page", ["index.html", "ops.html"])
def test_no_page_holds_what_its_policy_forbids_or_asks_for_what_is_not_there(page):
    text = (STATIC / page).read_text("utf-8")
    assert not re.search(r"<style|\sstyle=|\son\w+=|javascript:|<script(?![^>]*\ssrc=)", text)
    wanted = re.findall(r'(?:src|href)="static/([^"]+)"', text)
    assert wanted and set(wanted) <= set(SERVED)
    assert not re.search(r'(?:src|href)="(?:https?:)?//', text)


@pytest.mark.parametrize("page", ["index.html", "ops.html"])
def test_every_field_of_a_page_has_a_name(page):
    text = (STATIC / page).read_text("utf-8")
    labels = set(re.findall(r'<label for="([^"]+)"', text))
    fields = set(re.findall(r'<(?:input|select|textarea) id="([^"]+)"', text))
    assert fields and fields == labels
    assert text.startswith("<!doctype html>") and '<html lang="en">' in text and "<h1>" in text


async def test_a_browser_that_has_a_file_is_told_so_and_gets_another_one_when_it_changed(server):
    _, headers, _ = await get(server, "static/player.js")
    for given in (headers["ETag"], f'"other", W/{headers["ETag"]}', "*"):
        status, again, body = await get(server, "static/player.js", **{"If-None-Match": given})
        assert (status, body) == (304, b"") and again["ETag"] == headers["ETag"]
        assert again.items() >= SAFE.items()
    status, _, body = await get(server, "static/player.js", **{"If-None-Match": '"other"'})
    assert status == 200 and body
    tags = [(await get(server, f"static/{name}"))[1]["ETag"] for name in ("player.js", "opus.wasm")]
    assert len(set(tags)) == 2


async def test_files_are_sent_packed_to_those_who_say_that_they_unpack(server):
    _, plain, body = await get(server, "static/opus.wasm")
    assert "Content-Encoding" not in plain and plain["Vary"] == "Accept-Encoding"
    for offer in ("gzip", "br, gzip;q=0.5", "deflate, gzip"):
        _, headers, packed = await get(server, "static/opus.wasm", **{"Accept-Encoding": offer})
        assert headers["Content-Encoding"] == "gzip" and gzip.decompress(packed) == body
        assert headers["Content-Type"] == "application/wasm" and len(packed) < 0.7 * len(body)
    _, headers, same = await get(server, "static/opus.wasm", **{"Accept-Encoding": "gzip;q=0, br"})
    assert "Content-Encoding" not in headers and same == body


async def test_head_tells_the_length_and_sends_nothing(server):
    status, headers, body = await get(server, "static/player.js", method="HEAD")
    assert (status, body) == (200, b"")
    assert int(headers["Content-Length"]) == (STATIC / "player.js").stat().st_size


@pytest.mark.parametrize(
    "path",
    [
        "static/",
        "static",
        "static/demo",
        "static/demo/",
        "static/none.js",
        "static/../pages.py",
        "static/%2e%2e/%2e%2e/__init__.py",
        "static/..%2f..%2f__init__.py",
        "static/..%5c..%5c__init__.py",
        "static//etc/passwd",
        "static/%2fetc%2fpasswd",
        "static/demo/..%2f..%2f..%2fserver%2fpages.py",
        "static/index.html%00.js",
        "index.html",
        "static/LICENSE",
    ],
)
async def test_no_other_file_and_no_list_of_files_can_be_had(server, path):
    status, _, body = await get(server, path)
    assert status == 404
    assert b"Pages" not in body and b"root:" not in body


async def test_nothing_can_be_written(server):
    for method in ("POST", "PUT", "DELETE"):
        assert (await get(server, "static/player.js", method=method))[0] == 405


async def test_the_page_is_told_what_it_needs_and_no_cache_keeps_it(server):
    async with aiohttp.ClientSession() as http, http.get(f"{server.http_url}/page.json") as answer:
        told = await answer.json()
        assert answer.headers["Cache-Control"] == "no-store"
    assert told["stream"] == "v1/stream" and told["allowed"] and not told["needs_key"]
    assert [voice["name"] for voice in told["voices"]] and "classic" in told["policies"]
    assert "opus24" in told["rungs"] and 0 < told["bank_s"][0] < told["bank_s"][1]
    assert "demo" not in told


async def test_whoever_has_no_key_learns_no_voice_and_no_policy():
    async with serving(auth__keys=("a-key",)) as server, aiohttp.ClientSession() as http:
        for headers, allowed in (({}, False), ({"Authorization": "Bearer a-key"}, True)):
            async with http.get(f"{server.http_url}/page.json", headers=headers) as answer:
                told = await answer.json()
            assert told["needs_key"] and told["allowed"] is allowed
            assert bool(told["voices"]) is bool(told["policies"]) is allowed
        assert (await get(server, ""))[0] == 200  # the page itself asks for the key


async def test_without_the_setting_there_is_no_page_and_the_rest_is_as_before():
    async with serving(web__enabled=False) as server:
        for path in ("", "ops", "page.json", "static/player.js", "favicon.ico", "admin/live"):
            assert (await get(server, path))[0] == 404
        assert (await get(server, "healthz"))[0] == 200


def test_an_installation_without_the_files_says_so_at_the_start(tmp_path):
    (tmp_path / "other.js").write_text("")
    for folder in (tmp_path, tmp_path / "none"):
        with pytest.raises(ConfigError, match=r"web\.enabled: the pages are missing"):
            Pages(lambda request: {}, folder)
