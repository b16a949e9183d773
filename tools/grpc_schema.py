"""
Makes `abr_tts/server/grpc/abr_tts.binpb`, the compiled form of `protocol/abr_tts.proto`, which the server
loads: a FileDescriptorSet, which unlike generated Python works with every version of protobuf.

    pip install grpcio-tools
    python tools/grpc_schema.py
"""

import sys
import tempfile
from importlib.resources import files
from pathlib import Path

from grpc_tools import protoc

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "protocol" / "abr_tts.proto"
MADE = ROOT / "abr_tts" / "server" / "grpc" / "abr_tts.binpb"


def compiled() -> bytes:
    """The proto, and what it imports, as one serialised FileDescriptorSet."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        google = str(files("grpc_tools") / "_proto")
        places = ["-I", str(SOURCE.parent), "-I", google]
        arguments = ["protoc", *places, "--include_imports", f"--descriptor_set_out={out}", SOURCE.name]
        if protoc.main(arguments):
            sys.exit(f"{SOURCE} does not compile")
        return out.read_bytes()


if __name__ == "__main__":
    MADE.write_bytes(compiled())
    print(MADE.relative_to(ROOT))
