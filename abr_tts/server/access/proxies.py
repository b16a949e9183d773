"""
The address of a listener who comes through a proxy: what proxies of ours say of it, and nobody else.

`X-Forwarded-For` is a list to which each proxy adds whom it was called by, so what stands at its left end is
whatever the first caller wrote. It is read from the right, for as long as who wrote an entry is trusted.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence

from ...errors import ConfigError

MOST_HOPS = 32
"""Proxies in a row that are looked at; more than a few are a loop, or somebody's joke."""

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class Proxies:
    """
    Args:
        networks: of the proxies that are trusted, as `10.0.0.0/8`, or single addresses.

    Raises:
        ConfigError: one of them is none.
    """

    def __init__(self, networks: Sequence[str]) -> None:
        try:
            self._networks = tuple(ipaddress.ip_network(one.strip()) for one in networks)
        except ValueError as error:
            raise ConfigError(f"server.trusted_proxies: {error}") from None

    def address(self, peer: str, headers: Mapping[str, str]) -> str:
        """
        Who is behind a connection.

        Args:
            peer: address of who has connected.
            headers: of the request, any case; several of one name by `getall`, if there is such a thing.

        Returns:
            From here on the first that is not trusted, or the one farthest away; the peer, where that is not
            trusted or says nothing that is an address.
        """
        near = _address(peer)
        if near is None or not self._trusts(near):
            return peer
        hops = [_address(hop) for hop in _hops(headers)[-MOST_HOPS:]]
        for hop in reversed(hops):
            if hop is None:
                break
            near = hop
            if not self._trusts(hop):
                break
        return str(near)

    def _trusts(self, address: Address) -> bool:
        return any(address in network for network in self._networks)


def _hops(headers: Mapping[str, str]) -> list[str]:
    """Who called whom, the nearest last; X-Real-IP tells one, and counts where there is no list."""
    every = getattr(headers, "getall", lambda name, default: [headers[name]] if name in headers else default)
    lists = every("X-Forwarded-For", [])
    return ",".join(lists).split(",") if lists else every("X-Real-IP", [])[-1:]


def _address(text: str) -> Address | None:
    """An address that may have a port behind it or brackets around; of IPv4 in IPv6 the former."""
    text = text.strip()
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        made = ipaddress.ip_address(text)
    except ValueError:
        return None
    return getattr(made, "ipv4_mapped", None) or made
