"""The tools are scripts, not a package: their folder goes on the path, as it is when they run."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "tools" / "netem"))


@pytest.fixture
def tun_link():
    """The class TunLink, where this machine can have one."""
    import tun

    lacks = tun.missing()
    if lacks:
        pytest.skip(f"a TUN link needs root, Linux and iproute2: {lacks}")
    return tun.TunLink
