"""What the server tells its operator: metrics that are true, and logs without texts and keys."""

import logging

import aiohttp
import pytest
from prometheus_client.parser import text_string_to_metric_families

from abr_tts.server.watching.metrics import Metrics
from abr_tts.wire import messages as m

from .harness import eventually, peer, serving


async def scrape(server) -> dict[tuple[str, str], float]:
    """(name, its one label's value) → value."""
    async with aiohttp.ClientSession() as http, http.get(server.http_url + "/metrics") as answer:
        text = await answer.text()
    found = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found[sample.name, ",".join(sample.labels.values())] = sample.value
    return found


async def test_metrics_count_streams_seconds_first_sounds_errors_and_stalls():
    async with serving() as server, peer(server.url, hints=False) as client:
        fixed, opus = await client.start("x" * 10, rung="pcm22"), await client.start("x" * 10, rung="opus24")
        await client.whole_pcm(fixed.stream)
        await client.first(m.StreamEnd, stream=opus.stream)
        await client.refused("…")
        await client.send(m.BitRateHint(fixed.stream, client.received, 9600, 0, stalls=2, stall_ms=700))
        await client.send(m.BitRateHint(fixed.stream, 10**12, 9600, 0, stalls=2, stall_ms=900))
        await client.send(m.Ping(1))
        await client.first(m.Pong)
        seen = await scrape(server)
        assert seen["abr_tts_connections", ""] == 1
        assert seen["abr_tts_streams_started_total", ""] == 2
        assert seen["abr_tts_streams", "finishing"] == 2
        assert seen["abr_tts_streams", "speaking"] == 0
        assert seen["abr_tts_sent_audio_seconds_total", "pcm22"] == pytest.approx(0.6)
        assert seen["abr_tts_sent_audio_seconds_total", "opus24"] == pytest.approx(0.6)
        for name in ("raw", "delivered", "added"):
            assert seen[f"abr_tts_first_sound_{name}_seconds_count", ""] == 2
        assert seen["abr_tts_errors_total", "empty_text"] == 1
        assert seen["abr_tts_stalls_total", ""] == 2
        assert seen["abr_tts_stalled_seconds_total", ""] == pytest.approx(0.9)
        assert seen["abr_tts_hint_fields_clamped_total", ""] >= 1
        assert seen["abr_tts_sent_bytes_total", ""] == client.received
        assert seen["abr_tts_engine_workers_ready", ""] == 1
        assert ("abr_tts_event_loop_lag_seconds_count", "") in seen
    # The client has closed; the server's own counts say so.
    await eventually(lambda: server.metrics.registry.get_sample_value("abr_tts_connections") == 0)
    assert server.metrics.registry.get_sample_value("abr_tts_streams_ended_total", {"reason": "lost"}) == 2


def test_two_servers_in_one_process_count_apart():
    one, other = Metrics(), Metrics()
    one.started.inc()
    assert other.registry.get_sample_value("abr_tts_streams_started_total") == 0


async def test_neither_texts_nor_keys_are_ever_logged(caplog):
    caplog.set_level(logging.DEBUG)
    key, secret = "a-key-to-keep", "my secret diary"
    async with serving(auth__keys=(key,)) as server:
        async with peer(server.url, headers={"Authorization": f"Bearer {key}"}) as client:
            await client.start(secret, rung="pcm22")
            await client.start(secret, voice="tone-die")
            await client.first(m.Error)
            await client.socket.send_bytes(secret.encode())
            await client.closed()
        async with aiohttp.ClientSession() as http:
            with pytest.raises(aiohttp.WSServerHandshakeError):
                await http.ws_connect(server.url, headers={"Authorization": "Bearer wrong-key"})
    told = "\n".join(record.getMessage() + str(record.exc_info) for record in caplog.records)
    assert "session" in told
    for word in (secret, "secret", key, "wrong-key"):
        assert word not in told
