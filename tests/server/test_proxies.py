"""Whose address counts behind proxies: what trusted ones say, up to the first that is none."""

import pytest
from multidict import CIMultiDict

from abr_tts.errors import ConfigError
from abr_tts.server.access.proxies import MOST_HOPS, Proxies
from abr_tts.server.config import load

from .harness import peer, serving

NGINX, LISTENER = "10.0.0.2", "203.0.113.7"
TRUSTED = Proxies(["10.0.0.0/8", "2001:db8:1::/48"])


def through(*hops: str) -> CIMultiDict:
    return CIMultiDict([("X-Forwarded-For", ", ".join(hops))])


@pytest.mark.parametrize(
    ("peer", "hops", "address"),
    [
        (NGINX, [LISTENER], LISTENER),
        (NGINX, [LISTENER, "10.0.0.9"], LISTENER),
        (NGINX, ["198.51.100.1", LISTENER], LISTENER),
        (NGINX, ["10.0.0.8", "10.0.0.9"], "10.0.0.8"),
        (NGINX, [f"{LISTENER}:4711"], LISTENER),
        (NGINX, ["[2001:db8:9::1]:4711"], "2001:db8:9::1"),
        (NGINX, ["::ffff:203.0.113.7"], LISTENER),
        (NGINX, ["unknown"], NGINX),
        (NGINX, ["", LISTENER, "unknown", "10.0.0.9"], "10.0.0.9"),
        ("2001:db8:1::5", [LISTENER], LISTENER),
        ("::ffff:10.0.0.2", [LISTENER], LISTENER),
        (LISTENER, ["192.0.2.1"], LISTENER),
        ("", ["192.0.2.1"], ""),
    ],
)  # fmt: skip
def test_the_nearest_hop_that_is_not_trusted_is_the_listener(peer, hops, address):
    assert TRUSTED.address(peer, through(*hops)) == address


def test_a_list_in_several_headers_is_one_list():
    headers = CIMultiDict([("x-forwarded-for", "198.51.100.1"), ("X-Forwarded-For", LISTENER)])
    assert TRUSTED.address(NGINX, headers) == LISTENER


def test_the_other_header_counts_where_there_is_no_list():
    assert TRUSTED.address(NGINX, {"X-Real-IP": LISTENER}) == LISTENER
    assert TRUSTED.address(NGINX, {"X-Real-IP": "192.0.2.1", "X-Forwarded-For": LISTENER}) == LISTENER
    assert TRUSTED.address(LISTENER, {"X-Real-IP": "192.0.2.1"}) == LISTENER
    assert TRUSTED.address(NGINX, {}) == NGINX


def test_no_more_hops_are_looked_at_than_the_limit():
    assert TRUSTED.address(NGINX, through(LISTENER, *["10.0.0.9"] * (MOST_HOPS - 1))) == LISTENER
    assert TRUSTED.address(NGINX, through(LISTENER, *["10.0.0.9"] * MOST_HOPS)) == "10.0.0.9"


def test_where_nobody_is_trusted_nothing_is_believed():
    assert Proxies([]).address(NGINX, through(LISTENER)) == NGINX


@pytest.mark.parametrize("bad", ["10.0.0.1/8", "nginx", "10.0.0.0/33", ""])
def test_what_is_no_network_is_refused_by_name(bad):
    with pytest.raises(ConfigError, match=r"server\.trusted_proxies"):
        load(overrides={"server.trusted_proxies": [bad]})


@pytest.mark.parametrize(("trusted", "address"), [("127.0.0.0/8,::1", LISTENER), ("10.0.0.0/8", "127.0.0.1")])
async def test_a_session_has_the_address_that_its_proxy_told(trusted, address):
    headers = {"X-Forwarded-For": LISTENER}
    async with serving(server__trusted_proxies=trusted) as server, peer(server.url, headers=headers):
        (session,) = server._front.sessions
        assert session._caller.address == address
