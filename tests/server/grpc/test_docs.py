"""What docs/grpc.md tells to type works as it stands, and its tables are the code's."""

import asyncio
import os
import re
import sys
import wave

from abr_tts.audio.pcm import decode_pcm16

from ... import readme
from ..harness import peer
from .outsider import PROTO, grpc, serving_grpc

PAGE = PROTO.parents[1] / "docs" / "grpc.md"


async def run(*command: str, cwd) -> None:
    path = os.pathsep.join((os.path.dirname(sys.executable), os.environ["PATH"]))
    process = await asyncio.create_subprocess_exec(
        *command, cwd=cwd, env=os.environ | {"PATH": path},
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    said, _ = await process.communicate()
    assert process.returncode == 0, said.decode()


async def test_the_client_of_the_page_speaks_with_stubs_made_as_the_page_says(tmp_path):
    install, make = readme.command("grpc-stubs").splitlines()
    assert install == "pip install grpcio-tools"  # it is installed, or this would not run
    (tmp_path / "protocol").symlink_to(PROTO.parent)
    await run("bash", "-c", make, cwd=tmp_path)
    client = readme.command("grpc-client")
    assert len(client.splitlines()) <= 26
    async with serving_grpc() as server:
        (tmp_path / "client.py").write_text(client.replace("127.0.0.1:50051", server.grpc_target))
        await run(sys.executable, "client.py", cwd=tmp_path)
        async with peer(server.url) as native:
            started = await native.start("Hello over gRPC.", rung="pcm22")
            wanted = await native.whole_pcm(started.stream)
    with wave.open(str(tmp_path / "hello.wav")) as file:
        assert (file.getframerate(), file.getnchannels()) == (22_050, 1)
        assert (decode_pcm16(file.readframes(file.getnframes())) == wanted).all()


async def test_the_default_port_is_the_pages():
    from abr_tts.server.config import GrpcSettings

    settings = GrpcSettings()
    assert not settings.enabled
    assert f"gRPC on {settings.port}" in PAGE.read_text("utf-8")


def test_every_status_of_the_door_is_in_the_pages_table():
    from abr_tts.server.grpc.status import OF_CLOSE, OF_CODE

    told = set(re.findall(r"`([A-Z_]+)`", PAGE.read_text("utf-8")))
    used = {*OF_CODE.values(), *OF_CLOSE.values(), grpc.StatusCode.INTERNAL}
    assert {status.name for status in used} <= told


async def test_without_its_packages_the_door_is_refused_with_the_name_of_the_extra(tmp_path):
    code = (
        "import sys; sys.modules['grpc'] = None\n"
        "from abr_tts.errors import MissingDependency\n"
        "from abr_tts.server.config import load\n"
        "from abr_tts.server.grpc.opening import door\n"
        "assert door(load(), None, None) is None\n"
        "try:\n"
        "    door(load(overrides={'grpc.enabled': True}), None, None)\n"
        "except MissingDependency as error:\n"
        '    assert ".[grpc]" in str(error), error\n'
        "else:\n"
        "    raise SystemExit('it was not refused')\n"
    )
    await run(sys.executable, "-c", code, cwd=PROTO.parents[1])
