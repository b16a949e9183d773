"""
WebRTC's side that speaks (aiortc): Opus with in-band FEC over RTP, a packet every 20 ms as WebRTC
sends; requests and the ends of utterances go over a data channel.
"""

from __future__ import annotations

import asyncio
import json
import time
from fractions import Fraction
from typing import Any

from aiohttp import web
from aiortc import RTCConfiguration, RTCPeerConnection, RTCSessionDescription, rtcrtpsender
from aiortc.mediastreams import MediaStreamTrack
from av.packet import Packet

from abr_tts.audio.libopus import Library
from abr_tts.control.ladder import Rung
from abr_tts.units import FRAME_TICKS, FRAMES_PER_SECOND, TICKS_PER_SECOND
from versus.fec import track_with_copies
from versus.paced import Paced
from versus.plain import encode_as_it_comes

UTTERANCE_TICKS = 1 << 22
"""RTP time from one utterance to the next: 87 s, more than any lasts. So a time stamp names both."""

CLOCK = Fraction(1, TICKS_PER_SECOND)


class Voice(MediaStreamTrack):
    """The track: packets as they were encoded, one every 20 ms, nothing between utterances."""

    kind = "audio"

    def __init__(self) -> None:
        super().__init__()
        self._waiting: asyncio.Queue[tuple[int, bytes]] = asyncio.Queue()
        self._due = 0.0

    def put(self, ticks: int, data: bytes) -> None:
        """A packet for its turn."""
        self._waiting.put_nowait((ticks, data))

    async def recv(self) -> Packet:
        """The next packet at its time."""
        ticks, data = await self._waiting.get()
        now = time.monotonic()
        self._due = max(self._due, now)
        await asyncio.sleep(self._due - now)
        self._due += 1 / FRAMES_PER_SECOND
        packet = Packet(data)
        packet.pts, packet.time_base = ticks, CLOCK
        return packet


class Peers:
    """Answers offers; each peer may ask for one utterance after the other."""

    def __init__(self, paced: Paced, rung: Rung, library: Library) -> None:
        self._paced, self._rung, self._library = paced, rung, library
        self._peers: list[Any] = []
        self._speaking: list[asyncio.Task[None]] = []

    async def offer(self, request: web.Request) -> web.Response:
        """HTTP: an SDP offer, answered by one."""
        offer = await request.json()
        peer, voice = RTCPeerConnection(RTCConfiguration(iceServers=[])), Voice()
        self._peers.append(peer)
        peer.on("datachannel", lambda channel: self._serve(channel, voice))
        await peer.setRemoteDescription(RTCSessionDescription(offer["sdp"], offer["type"]))
        peer.addTrack(voice)
        rtcrtpsender.random32 = lambda: 0  # RTP time begins at 0, so that it can be read as a place
        await peer.setLocalDescription(await peer.createAnswer())
        return web.json_response({"sdp": peer.localDescription.sdp, "type": peer.localDescription.type})

    async def close(self, app: web.Application) -> None:
        """Hang up on everybody."""
        for task in self._speaking:
            task.cancel()
        await asyncio.gather(*(peer.close() for peer in self._peers), return_exceptions=True)

    def _serve(self, channel: Any, voice: Voice) -> None:
        @channel.on("message")
        def on_message(text: str) -> None:
            request = json.loads(text)
            self._speaking.append(asyncio.ensure_future(self._speak(channel, voice, **request)))

    async def _speak(self, channel: Any, voice: Voice, number: int, text: str) -> None:
        begin = number * UTTERANCE_TICKS + FRAME_TICKS  # the pre-roll packet stands before pts 0

        async def send(pts: int, packets: list[bytes]) -> None:
            for index, packet in enumerate(packets):
                voice.put(begin + pts + index * FRAME_TICKS, packet)

        track = track_with_copies(self._rung, self._paced.rate, self._library)
        length = await encode_as_it_comes(text, self._paced, track, send)
        channel.send(json.dumps({"number": number, "length": length}))
