"""
Opens the gRPC door where it is set, with the packages that it needs or a sentence that names the extra.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import MissingDependency, to_install
from ..access.tls import Certificate
from ..config import Settings
from ..front import Front

if TYPE_CHECKING:
    from .door import GrpcDoor


def door(settings: Settings, front: Front, certificate: Certificate | None) -> GrpcDoor | None:
    """
    The door, None where it is not set.

    Raises:
        MissingDependency: gRPC's packages are not installed.
    """
    if not settings.grpc.enabled:
        return None
    try:
        from .door import GrpcDoor
    except ImportError as error:
        words = f"grpc.enabled needs the package {error.name}: {to_install('grpc')}"
        raise MissingDependency(words) from None
    return GrpcDoor(settings, front, certificate)
