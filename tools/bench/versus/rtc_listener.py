"""
WebRTC's side that listens (aiortc): its packets are taken as they come from the network, since
aiortc's own buffer neither reads copies nor conceals, and played by `lossy`.
"""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import aiohttp
import numpy as np
from aiortc import RTCConfiguration, RTCPeerConnection, RTCSessionDescription

from abr_tts.audio.libopus import load
from abr_tts.audio.opus import Decoder
from abr_tts.audio.pcm import to_int16
from abr_tts.client.clock import FRAME_S, FrameClock
from abr_tts.units import FRAME_TICKS, TICKS_PER_SECOND, convert_length, frame_samples
from versus.heard import Ear
from versus.listeners import CONNECT_S
from versus.lossy import COPY, GUESS, LossyPlayout, Step
from versus.plan import Said
from versus.rtc_server import UTTERANCE_TICKS


class Rtc:
    """See `listeners.Listener`."""

    def __init__(self, url: str, context: Any, rung: str, rate: int) -> None:
        self._url, self._rung, self._rate = url, rung, rate
        self._library = load()
        self._number = -1
        self._playout = LossyPlayout()
        self._length: int | None = None
        self._first: bytes | None = None
        self._news = asyncio.Event()

    async def __aenter__(self) -> Rtc:
        self._peer = RTCPeerConnection(RTCConfiguration(iceServers=[]))
        try:
            async with asyncio.timeout(CONNECT_S):
                await self._connect()
        except BaseException:
            await self._peer.close()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._peer.close()

    async def _connect(self) -> None:
        receiver = self._peer.addTransceiver("audio", direction="recvonly").receiver
        receiver._handle_rtp_packet = self._on_packet  # what its transport calls
        self._channel = self._peer.createDataChannel("speech")
        opened = asyncio.Event()
        self._channel.on("open", opened.set)
        self._channel.on("message", self._on_message)
        await self._peer.setLocalDescription(await self._peer.createOffer())
        offer = {"sdp": self._peer.localDescription.sdp, "type": self._peer.localDescription.type}
        async with (
            aiohttp.ClientSession() as session,
            session.post(self._url + "offer", json=offer) as response,
        ):
            answer = await response.json()
        await self._peer.setRemoteDescription(RTCSessionDescription(answer["sdp"], answer["type"]))
        await opened.wait()

    async def _on_packet(self, packet: Any, arrival_time_ms: int) -> None:
        number, ticks = divmod(packet.timestamp, UTTERANCE_TICKS)
        if number != self._number:
            return
        if ticks == 0:
            self._first = bytes(packet.payload)
        else:
            self._playout.arrive(ticks // FRAME_TICKS - 1, bytes(packet.payload))
        self._news.set()

    def _on_message(self, text: str) -> None:
        told = json.loads(text)
        if told["number"] == self._number:
            self._length = told["length"]
            ticks = convert_length(told["length"], self._rate, TICKS_PER_SECOND)
            self._playout.end(-(-ticks // FRAME_TICKS))
            self._news.set()

    async def hear(self, said: Said, ear: Ear) -> None:
        """See `listeners.Listener`."""
        self._number += 1
        self._playout, self._length, self._first = LossyPlayout(), None, None
        playout, clock = self._playout, FrameClock()
        decoder, ear.rate = Decoder(self._library), TICKS_PER_SECOND
        self._channel.send(json.dumps({"number": self._number, "text": said.text}))
        while not playout.ready:
            self._news.clear()
            await self._news.wait()
        if self._first is not None:
            decoder.decode(self._first)
        while not playout.finished:
            if self._peer.connectionState in ("failed", "closed"):
                raise ConnectionError("the peer connection has ended")
            now = time.monotonic()
            await asyncio.sleep(clock.wait(now))
            clock.tick(time.monotonic())
            step = playout.render()
            if step is not None:
                self._sound(step, decoder, ear)
        ear.complete = True
        if self._length is not None:
            over = ear.samples - convert_length(self._length, self._rate, TICKS_PER_SECOND)
            if over > 0:
                ear.pieces[-1] = ear.pieces[-1][:-over]

    def _sound(self, step: Step, decoder: Decoder, ear: Ear) -> None:
        if step.packet is None:
            floats = decoder.conceal()
            ear.concealed_s += FRAME_S
        elif step.kind == COPY:
            floats = decoder.recover(step.packet)
            ear.recovered_s += FRAME_S
        else:
            floats = decoder.decode(step.packet)
        samples = to_int16(np.resize(floats, frame_samples(TICKS_PER_SECOND)))
        rung = "" if step.kind == GUESS else self._rung
        stall_s = self._playout.silent * FRAME_S
        ear.hole_s = self._playout.holes * FRAME_S
        ear.frame(time.monotonic(), samples, rung, self._playout.stalls, stall_s)
