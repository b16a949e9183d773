"""What the tests of OpenAI's form share: one server, one pool, one question."""

import asyncio

from abr_tts.engine.spec import Limits

from ..pools import Collector
from .fakes import Script, asking, http_server

IMPATIENT = Limits(first_chunk_s=1.0, gap_s=1.0, load_s=1.0)


def ask(pool, text="Good evening.", voice=None, **more):
    sink = Collector()
    sink.ticket = pool.say(text, pool.choose(voice, None, text), None, 1.0, sink, **more)
    return sink


def served(test, *answers, limits=None, http=None, **options):
    """Run `test(pool, script)` against one server."""

    async def main():
        script = Script(*answers)
        async with http_server(script, **(http or {})) as url, asking(url, limits=limits, **options) as pool:
            await test(pool, script)

    asyncio.run(main())
