"""A visit whose right to be here ends: what `Visit.dismiss` promises, with and without a speech under way."""

import asyncio

import pytest

from abr_tts.errors import AbrError, ShuttingDown, Unauthorized
from abr_tts.server.doors.asking import Ask

from ..harness import WAIT_S, eventually
from .world import SAYING, counted, samples_of, visiting

WORDS = "its key was removed"
SLOW = {"engine__options": {"rate": 22_050, "rtf": 1.0}}


def listening(visit) -> list[AbrError]:
    """What its door is told."""
    told: list[AbrError] = []
    visit.on_shut = told.append
    return told


async def test_every_speech_of_it_fails_and_the_engine_stops_and_its_door_is_told_once():
    async with visiting(**SLOW, engine__workers=2) as (server, visit):
        told = listening(visit)
        with visit.open(Ask(SAYING)) as one, visit.open(Ask(SAYING)) as other:
            await asyncio.wait_for(anext(one), WAIT_S)
            visit.dismiss(WORDS)
            for speech in (one, other):
                with pytest.raises(Unauthorized, match=WORDS):
                    await samples_of(speech)
            assert one.closed and other.closed and not visit.speeches
        assert [(error.code, WORDS in error.message) for error in told] == [("unauthorized", True)]
        assert server._admission.streams == 0
        await eventually(lambda: server.pool.stats.busy == 0)
        assert counted(server, 'abr_tts_streams_ended_total{reason="unauthorized"}') == 2


async def test_one_that_says_nothing_is_told_as_well():
    async with visiting() as (_, visit):
        told = listening(visit)
        visit.dismiss(WORDS)
        assert [error.code for error in told] == ["unauthorized"]


async def test_it_begins_nothing_more():
    async with visiting() as (server, visit):
        visit.dismiss(WORDS)
        with pytest.raises(Unauthorized, match=WORDS):
            visit.open(Ask(SAYING))
        assert server._admission.streams == 0 and not visit.speeches
        assert counted(server, 'abr_tts_errors_total{code="unauthorized"}') == 1


async def test_nor_does_one_that_a_stopping_server_has_shut():
    async with visiting() as (_, visit):
        visit.shut()
        with pytest.raises(ShuttingDown):
            visit.open(Ask(SAYING))


async def test_it_keeps_its_place_until_it_leaves_and_counts_as_refused():
    async with visiting() as (server, visit):
        visit.dismiss(WORDS)
        assert server._admission.connections == 1 and visit in server.door.sessions
        visit.leave()
        assert server._admission.connections == 0 and visit not in server.door.sessions
        assert counted(server, 'abr_tts_connections_closed_total{code="1008"}') == 1
