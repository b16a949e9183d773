"""
The messages of `protocol/abr_tts.proto`, from its compiled form beside this file.

`abr_tts.binpb` is made by `tools/grpc_schema.py` and by nobody else. It is loaded into a pool of its own, so
that a program that has stubs from the same proto can hold a server as well.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

PACKAGE = "abr_tts.v1"

SERVICE = f"{PACKAGE}.Speech"
"""The service by its full name."""


def _load() -> descriptor_pool.DescriptorPool:
    pool = descriptor_pool.DescriptorPool()
    made = files(__package__).joinpath("abr_tts.binpb").read_bytes()
    for file in descriptor_pb2.FileDescriptorSet.FromString(made).file:
        pool.AddSerializedFile(file.SerializeToString())
    return pool


POOL = _load()
"""Where reflection finds the service."""


def message(name: str) -> Any:
    """The class of a message of the proto."""
    return message_factory.GetMessageClass(POOL.FindMessageTypeByName(f"{PACKAGE}.{name}"))
