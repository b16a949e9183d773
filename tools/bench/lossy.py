"""
What Opus' own repairs are worth where a transport loses packets: in-band FEC and concealment (PLC)
against loss, over UDP.

Speech as Opus packets of 20 ms, each in a datagram of its own, crosses a link that loses packets one by
one: a real one (TUN, two namespaces; root and Linux) and the same in virtual time. Arms: `plc` has FEC
off and lets the decoder conceal; `fec` tells the encoder the loss, so that each packet carries a coarse
copy of the one before; `fec10` always tells it 10 %, which shows what FEC costs where nothing is lost.
The bitrate is the same in all of them. Judged by PESQ-WB, where `pesq` is installed, and by segmental
SNR, against the source.

    python tools/bench/lossy.py [--kbps 24] [--backend both|virtual|tun] [--json] [--plot out.html]
"""

from __future__ import annotations

import argparse
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, TypeAlias

import lossy_meters as meters
import lossy_plot
import numpy as np
import numpy.typing as npt
from common import show
from soundtrack import speech

from abr_tts.audio.libopus import load
from abr_tts.audio.opus import Decoder, Encoder
from abr_tts.audio.pcm import to_float
from abr_tts.sim.link import Link
from abr_tts.sim.scenario import Direction, Scenario

sys.path.append(str(Path(__file__).parents[1] / "netem"))
from tun import TunLink, missing

LOSSES = (0, 1, 2, 5, 10, 15, 20)
"""Percent."""

ARMS: dict[str, Callable[[int], int]] = {
    "plc": lambda loss: 0,
    "fec": lambda loss: loss,
    "fec10": lambda loss: 10,
}
"""What the encoder is told of a loss, in percent."""

RATE, FRAME = 24_000, 480
SECONDS = 24.0
RTP_BYTES, IP_UDP_BYTES = 12, 28
"""Headers of a datagram: RTP's (RFC 3550) and those of IPv4 and UDP."""

GAP_S = 0.002
"""Seconds between two datagrams on TUN. They stand for 20 ms each; loss that comes one by one does not
know how fast they come, and so it takes a tenth of the time."""

WAIT_S = 0.5
"""Seconds without a datagram after which no more come."""

KBPS, DELAY_S = 10_000.0, 0.01
"""Of the link: ample."""

Int16: TypeAlias = npt.NDArray[np.int16]
Float32: TypeAlias = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Sent:
    """What one arm sends, and how it is repaired."""

    packets: list[bytes]
    fec: bool

    @property
    def kbps(self) -> float:
        """Of the packets, without headers."""
        return sum(map(len, self.packets)) * 8 / (20 * len(self.packets))


def network(loss: int) -> Scenario:
    """The link that loses so many percent."""
    down = Direction(((0.0, KBPS),), DELAY_S, loss=loss / 100)
    return Scenario("lossy", 600.0, down, Direction(((0.0, KBPS),), DELAY_S))


def sent(sound: Int16, kbps: int, told: int) -> Sent:
    """Packet k decodes to frame k of `sound`."""
    encoder = Encoder(load(), kbps=kbps, rate=RATE, loss_percent=told)
    advanced = to_float(sound)[encoder.lookahead :]
    frames = advanced[: len(advanced) // FRAME * FRAME].reshape(-1, FRAME)
    return Sent([encoder.encode(frame) for frame in frames], told > 0)


def heard(what: Sent, arrived: set[int]) -> Float32:
    """What comes out of the decoder: a lost frame from the copy in the next packet, else concealed."""
    decoder, pieces = Decoder(load(), RATE), []
    for index, packet in enumerate(what.packets):
        if index in arrived:
            pieces.append(decoder.decode(packet))
        elif what.fec and index + 1 in arrived:
            pieces.append(decoder.recover(what.packets[index + 1]))
        else:
            pieces.append(decoder.conceal())
    return np.concatenate(pieces)


# ---------------------------------------------------------------- the link


def over_virtual(what: Sent, loss: int, seed: int) -> set[int]:
    """Numbers of the packets that arrive, in virtual time."""
    scenario = network(loss)
    link = Link(scenario.down, scenario.duration_s, f"{scenario.seed}/{seed}/down")
    sizes = (len(packet) + RTP_BYTES + IP_UDP_BYTES for packet in what.packets)
    arrivals = (link.send(size, index * GAP_S) for index, size in enumerate(sizes))
    return {index for index, at in enumerate(arrivals) if at is not None}


def over_tun(what: Sent, loss: int, seed: int) -> set[int]:
    """The same through two kernels."""
    with TunLink(network(loss)) as link:
        source, target = _datagrams(link, "server"), _datagrams(link, "client")
        target.settimeout(WAIT_S)
        link.start(network(loss), seed)
        thread = threading.Thread(target=_send, args=(source, target.getsockname(), what.packets))
        thread.start()
        arrived = set(_arrivals(target))
        thread.join()
        source.close()
        target.close()
    return arrived


def _datagrams(link: TunLink, side: str) -> socket.socket:
    with link.inside(side):
        made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    made.bind((link.address(side), 0))
    return made


def _send(source: socket.socket, place: Any, packets: list[bytes]) -> None:
    due = time.monotonic()
    for index, packet in enumerate(packets):
        source.sendto(struct.pack("!12xI", index)[-RTP_BYTES:] + packet, place)
        due += GAP_S
        time.sleep(max(0.0, due - time.monotonic()))


def _arrivals(target: socket.socket) -> Iterator[int]:
    while True:
        try:
            yield struct.unpack_from("!I", target.recv(2048), RTP_BYTES - 4)[0]
        except TimeoutError:
            return


BACKENDS = {"virtual": over_virtual, "tun": over_tun}


# ---------------------------------------------------------------- all of it


def measure(sound: Int16, loss: int, arm: str, backend: str, args: argparse.Namespace) -> dict[str, Any]:
    """One point of the plot."""
    what = sent(sound, args.kbps, ARMS[arm](loss))
    runs = range(1, (args.runs if backend == "virtual" else args.tun_runs) + 1)
    arrivals = [BACKENDS[backend](what, loss, seed) for seed in (runs if loss else runs[:1])]
    sounds = [heard(what, arrived) for arrived in arrivals]
    judged = [meters.judge(to_float(sound), one, RATE) for one in sounds]
    return {
        "backend": backend,
        "arm": arm,
        "loss_pct": loss,
        "lost_pct": round(100 - 100 * fmean(len(one) for one in arrivals) / len(what.packets), 2),
        "kbps": round(what.kbps, 1),
        **{key: round(fmean(one[key] for one in judged), 3) for key in judged[0]},
    }


def verdict(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """What the table says, in figures: what FEC gains at 10 %, and what it costs at 0 %."""
    meter = "pesq" if "pesq" in rows[0] else "seg_snr_db"

    def at(arm: str, loss: int) -> float:
        return fmean(row[meter] for row in rows if row["arm"] == arm and row["loss_pct"] == loss)

    gain, cost = at("fec", 10) - at("plc", 10), at("plc", 0) - at("fec10", 0)
    return {
        "meter": meter,
        "fec_gains_at_10_pct": round(gain, 3),
        "fec_costs_at_0_pct": round(cost, 3),
        "over_tcp": "off: TCP sends again what is lost, so there is nothing to repair, only the cost",
    }


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kbps", type=int, default=24, help="of Opus; below 64, where there is FEC")
    parser.add_argument("--backend", choices=("both", *BACKENDS), default="both")
    parser.add_argument("--runs", type=int, default=3, help="in virtual time, each with other losses")
    parser.add_argument("--tun-runs", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--plot", type=Path, metavar="OUT.html")
    args = parser.parse_args()
    backends = list(BACKENDS) if args.backend == "both" else [args.backend]
    if "tun" in backends and (lacks := missing()):
        raise SystemExit(f"a TUN link cannot be made ({lacks}); --backend virtual needs none")
    sound = speech(RATE, SECONDS)
    rows = [
        measure(sound, loss, arm, backend, args) for backend in backends for arm in ARMS for loss in LOSSES
    ]
    result = {"kbps": args.kbps, **verdict(rows), "rows": rows}
    if args.plot:
        args.plot.write_text(lossy_plot.page(rows, args.kbps), "utf-8")
    if args.json:
        show(result, True)
    else:
        print(meters.table(rows))
        show({key: value for key, value in result.items() if key != "rows"}, False)


if __name__ == "__main__":
    main()
