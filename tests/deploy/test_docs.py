"""
The operator's pages keep their word: their commands run, what they name exists, their tables are the code's.

What needs a Docker engine, a cluster or systemd is not run; its files are checked in test_manifests.
"""

import importlib.util
import re
import shlex
import shutil
import subprocess
import wave

import pytest
import shipped
import trustme

from abr_tts.cli import _parser
from abr_tts.server.access.auth import Auth
from abr_tts.server.config import SECTIONS, AuthSettings, describe

from .. import readme
from ..ports import kept_port
from ..test_readme import WITHIN_S, Newcomer
from .manifests import DEPLOY, read

DOCS = readme.README.parent / "docs"
PAGES = ("operate", "security", "troubleshooting", "glossary")
NGINX = pytest.mark.skipif(not shipped.installed(), reason="nginx is not installed")
CURL = pytest.mark.skipif(not shutil.which("curl"), reason="curl is not installed")


def page(name: str) -> str:
    return (DOCS / f"{name}.md").read_text("utf-8")


def inline(name: str) -> list[str]:
    """The code within the sentences and tables of a page."""
    return re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", page(name), flags=re.M | re.S))


@pytest.fixture(scope="module")
def port():
    with kept_port() as port:
        yield port


@pytest.fixture(scope="module")
def operator(tmp_path_factory, port):
    """An operator's folder: the tools, keys as the page makes them, a certificate for localhost."""
    newcomer = Newcomer(tmp_path_factory.mktemp("operator"), port)
    newcomer.environment["ABR_TTS_ENGINE__KIND"] = "tone"
    (newcomer.folder / "tools").symlink_to(DEPLOY.parent)
    authority = trustme.CA()
    authority.cert_pem.write_to_path(newcomer.folder / "ca.pem")
    issued = authority.issue_cert("localhost", "127.0.0.1")
    issued.cert_chain_pems[0].write_to_path(newcomer.folder / "cert.pem")
    issued.private_key_pem.write_to_path(newcomer.folder / "key.pem")
    newcomer.run("keys")
    return newcomer


# What runs


def test_the_keys_that_it_makes_are_two_and_only_their_owner_reads_them(operator):
    files = [operator.folder / "secrets" / f"{name}.keys" for name in ("api", "admin")]
    assert [path.stat().st_mode & 0o777 for path in files] == [0o600, 0o600]
    rings = [Auth(AuthSettings(keys_file=path)) for path in files]
    assert all(ring.needs_key for ring in rings) and not rings[0].shares_a_key(rings[1])


@NGINX
def test_the_site_that_it_puts_together_is_one_that_nginx_takes(operator):
    operator.run("site")
    servers = (operator.folder / "site" / "nginx.d" / "servers.conf").read_text("utf-8")
    assert re.findall(r"^server (\S+) max_fails=1", servers, re.M) == [
        f"127.0.0.1:{operator.port}",  # the page's 8765
        "127.0.0.1:8766",
    ]


@CURL
def test_what_watches_and_what_helps_in_trouble_answers(operator):
    with operator.serving("serve"):
        watched = operator.run("watch")
        assert '"status": "ok"' in watched and '"ready": true' in watched
        assert 'abr_tts_streams{state="speaking"} 0' in watched
        told = operator.run("trouble")
    assert "libopus" in told
    with wave.open(str(operator.folder / "three.wav")) as file:
        assert file.getnframes() / file.getframerate() == pytest.approx(len("One, two, three.") * 0.06)


@NGINX
@CURL
def test_a_server_with_keys_behind_nginx_is_as_shut_as_it_says(operator):
    certificate = operator.folder / "cert.pem", operator.folder / "key.pem"

    def check(port: int) -> int:
        body = readme.command("locked").replace(":8765", f":{operator.port}").replace(":8443", f":{port}")
        return subprocess.run(["bash", "-euc", body], cwd=operator.folder, timeout=WITHIN_S).returncode

    with shipped.shipped([f"127.0.0.1:{operator.port}"], certificate) as nginx:
        with operator.serving("serve"):
            assert check(nginx.port) != 0, "it is open without a key"
        operator.environment["ABR_TTS_AUTH__KEYS_FILE"] = "secrets/api.keys"
        try:
            with operator.serving("serve"):
                assert check(nginx.port) == 0
        finally:
            del operator.environment["ABR_TTS_AUTH__KEYS_FILE"]


@pytest.mark.parametrize("name", PAGES)
def test_every_command_in_a_sentence_is_one_that_abr_tts_has(name):
    for command in inline(name):
        if command.startswith("abr-tts "):
            _parser().parse_args(shlex.split(command)[1:])


# What is named


@pytest.mark.parametrize("name", PAGES)
def test_every_setting_that_a_page_names_exists(name):
    known = {item.name for item in describe()} | {
        f"{section}.{key}" for section, key in (("tls", "cert_file"),)
    }
    wanted = {word for word in inline(name) if re.fullmatch(rf"({'|'.join(SECTIONS)})\.\w+", word)}
    assert wanted - known == set()
    assert wanted or name == "glossary"


@pytest.mark.parametrize("name", PAGES)
def test_every_file_of_tools_that_a_page_names_exists(name):
    for path in re.findall(r"\btools/[\w./@-]*\w", page(name)):
        assert (DOCS.parent / path).exists(), path


@pytest.mark.parametrize("name", PAGES)
def test_every_link_into_a_page_leads_to_a_heading(name):
    for target, anchor in re.findall(r"\]\(([\w.]*)#([\w-]+)\)", page(name)):
        text = (DOCS / target).read_text("utf-8") if target else page(name)
        headings = re.findall(r"^#+ (.+)$", text, re.M)
        slugs = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
        assert anchor in slugs, f"{target}#{anchor}"


def test_every_alert_is_explained():
    rules = read(DEPLOY / "alerts.yaml")["groups"][0]["rules"]
    assert re.findall(r"^\| `(AbrTts\w+)` ", page("troubleshooting"), re.M) == [
        rule["alert"] for rule in rules
    ]


def test_every_error_code_stands_in_the_table_as_the_protocol_has_it():
    spec = importlib.util.spec_from_file_location("error_table", DEPLOY / "error_table.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    written = page("troubleshooting").split("| code |")[1].splitlines()[2:]
    assert written == module.rows(), "python tools/deploy/error_table.py prints what belongs there"


def test_the_glossary_is_in_order_and_has_the_words_of_the_field():
    words = re.findall(r"^\| \*\*([^*]+)\*\*", page("glossary"), re.M)
    assert words == sorted(words, key=str.lower)
    needed = (
        "bank drain family fade ladder lead outstanding pre-roll pts rank rung splice stall track upgrade"
    )
    assert set(needed.split()) <= set(words)


def test_the_readme_leads_to_every_page():
    text = readme.README.read_text("utf-8")
    assert [path.name for path in DOCS.glob("*.md") if f"(docs/{path.name})" not in text] == []
