"""
torchaudio's windowed sinc as a resampler, on the CPU or on a GPU beside the model.

The kernel is torchaudio's own; it is applied here, as a product of matrices, since torchaudio
itself knows whole sounds alone: what a stream needs of its past stays on the device from chunk to
chunk. The only module outside the engines that may load torch, and it does so when asked. Knows
samples and rates; it must not know who plays them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import MissingDependency, to_install

ZEROS, ROLLOFF, BETA = 64, 0.94, 14.769656459379492
"""Zero crossings of the sinc on each side, its corner over Nyquist, and the Kaiser window's beta:
`kaiser_best` of torchaudio's tutorial on resampling, with its corner lowered from 0.9476 so that it ends
where soxr does. Measured: 0.01 dB down at 0.88 of Nyquist, 0.1 at 0.90, 142 from 1.01 on (soxr: 0.01 dB
at 0.92, 128 from 1.01 on; `kaiser_best` leaves 91 there); 4.3 ms of sound on either side at 16 kHz."""

BLOCK_S = 0.005
"""Seconds of input that one row of the product covers at least: with rates of a small ratio, such as
3 to 2, rows of one period would be many and short, and cost ten times as much (measured)."""

HOW_TO_GET = to_install("torch")
"""What a person may do when torch is missing."""

Float32 = NDArray[np.float32]
Tensor = Any


@dataclass(frozen=True, slots=True)
class TorchAudio:
    """
    torchaudio's sinc on one device; made by `find`.

    Args:
        device: as torch names it: `cpu`, `cuda`, `cuda:1`, `mps`.
    """

    device: str

    def stream(self, in_rate: int, out_rate: int) -> Stream:
        """One shot to within float rounding, however it is cut."""
        return Stream(_kernel(in_rate, out_rate, self.device))

    def whole(self, samples: Float32, in_rate: int, out_rate: int) -> Float32:
        """The stream of one chunk, up to a block too long."""
        return self.stream(in_rate, out_rate).resample_chunk(samples, last=True)


def find(device: str = "auto") -> TorchAudio:
    """
    Load torch and torchaudio, two seconds and 0.2 GB, and make sure of the device.

    On a CPU torch is held to one thread from here on, in the whole process: streams are resampled
    side by side, and a product as small as ours only waits for a second core.

    Args:
        device: as torch names it; `auto`: the GPU if torch sees one (CUDA or ROCm), else the CPU.

    Raises:
        MissingDependency: one of the two is not installed, or is not built for the other.
        ValueError: no such device here.
    """
    torch = _load()
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        torch.zeros(1, device=device).cpu()
        kind = torch.device(device).type
    except (RuntimeError, AssertionError, NotImplementedError) as fault:
        reason = str(fault).strip().splitlines()[0]
        raise ValueError(f"torch cannot use the device {device!r}: {reason}") from fault
    if kind == "cpu":
        torch.set_num_threads(1)
    return TorchAudio(device)


def _load() -> Any:
    """torch, once both are sure to load."""
    try:
        import torch
        import torchaudio  # noqa: F401
    except ModuleNotFoundError as fault:
        raise MissingDependency(f"the resampler torchaudio needs {fault.name}: {HOW_TO_GET}") from fault
    except (ImportError, OSError) as fault:
        raise MissingDependency(
            f"torchaudio cannot be loaded: {fault}. It must be built for the torch that is installed "
            f"(both for CUDA, or both for the CPU): {HOW_TO_GET}"
        ) from fault
    return torch


@dataclass(frozen=True, slots=True, eq=False)
class Kernel:
    """
    What turns `step` samples, and `width` on either side of them, into `given`.

    Args:
        taps: float32 tensor, shape (width + step + width, given), on the device.
    """

    taps: Tensor
    width: int
    step: int
    given: int


@cache
def _kernel(in_rate: int, out_rate: int, device: str) -> Kernel:
    """torchaudio's kernel for one period of the rates, repeated until it covers BLOCK_S."""
    import torch
    from torchaudio.transforms import Resample

    made = Resample(
        in_rate, out_rate, "sinc_interp_kaiser",
        lowpass_filter_width=ZEROS, rolloff=ROLLOFF, beta=BETA,
    )  # fmt: skip
    one, width = made.kernel[:, 0].T, made.width  # (width + step + width, given) of one period
    given = one.shape[1]
    step = one.shape[0] - 2 * width
    times = max(1, round(BLOCK_S * in_rate / step))
    taps = torch.zeros(2 * width + times * step, times * given)
    for k in range(times):
        taps[k * step : k * step + one.shape[0], k * given : (k + 1) * given] = one
    return Kernel(taps.to(device), width, times * step, times * given)


class Stream:
    """The state of one stream: the input that later output needs, on the kernel's device."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._held: Tensor = kernel.taps.new_zeros(kernel.width)  # the silence before the first sample

    def resample_chunk(self, samples: Float32, last: bool = False) -> Float32:
        """
        Next input, float32, shape (n,), n ≥ 0 → what is ready, float32, shape (m,), m ≥ 0.

        With `last` silence follows, and up to a block more than the input's length gives comes out.
        """
        import torch

        kernel = self._kernel
        with torch.inference_mode():
            pieces = [self._held, torch.tensor(samples, device=kernel.taps.device)]
            if last:
                pieces.append(kernel.taps.new_zeros(kernel.width + kernel.step))
            held = torch.cat(pieces)
            blocks = (len(held) - 2 * kernel.width) // kernel.step
            if blocks <= 0:
                self._held = held
                return np.zeros(0, np.float32)
            rows = held.unfold(0, len(kernel.taps), kernel.step)
            self._held = held[blocks * kernel.step :].clone()
            out: Float32 = (rows @ kernel.taps).reshape(-1).cpu().numpy()
        return out
