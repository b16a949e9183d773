"""
Which of libopus' files make a decoder, and how they are compiled.

The lists are those of `celt_sources.mk`, `silk_sources.mk` and `opus_sources.mk` in libopus 1.6.1
without the encoder's; what a listed file holds beyond the decoder is dropped by the linker.
"""

from __future__ import annotations

VERSION = "1.6.1"
"""The server's own (`BUNDLED_VERSION` of abr_tts/audio/libopus.py): SILK then decodes to the same bits."""

ARCHIVE = f"opus_{VERSION}.orig.tar.xz"
ARCHIVE_SHA256 = "001ac615b9f8f8994b229ad2b1a5969ed12ab48b0d154d0af1016a5899cd6ba1"
"""Debian's upstream archive, as its `opus_1.6.1-1.dsc` names it; Debian patches nothing."""

CELT = """
    bands celt celt_decoder celt_lpc cwrs entcode entdec entenc kiss_fft laplace mathops mdct modes
    pitch quant_bands rate vq
"""

SILK = """
    CNG LPC_analysis_filter LPC_fit LPC_inv_pred_gain NLSF2A NLSF_decode NLSF_stabilize NLSF_unpack
    PLC bwexpander bwexpander_32 code_signs dec_API decode_core decode_frame decode_indices
    decode_parameters decode_pitch decode_pulses decoder_set_fs gain_quant init_decoder lin2log
    log2lin pitch_est_tables resampler resampler_private_AR2 resampler_private_IIR_FIR
    resampler_private_down_FIR resampler_private_up2_HQ resampler_rom shell_coder sort
    stereo_MS_to_LR stereo_decode_pred sum_sqr_shift table_LSF_cos tables_LTP tables_NLSF_CB_NB_MB
    tables_NLSF_CB_WB tables_gain tables_other tables_pitch_lag tables_pulses_per_block
"""

OPUS = "extensions opus opus_decoder"

FOLDERS = {"celt": CELT, "silk": SILK, "src": OPUS}
FILES = [f"{folder}/{name}.c" for folder, names in FOLDERS.items() for name in names.split()]

OURS = ("decoders.c", "libc.c")
"""Beside this file."""

MACHINE = ("--target=wasm32-wasi", "-mcpu=mvp")
"""The first WebAssembly that browsers agreed on, as old web views know it. SIMD, bulk memory and saturating
conversion are left out: with SIMD it is 5 % faster than -O3 alone."""

COMPILE = (
    "-Os",  # README has what the others cost
    "-std=gnu11",
    "-ffp-contract=off",
    "-ffunction-sections",
    "-fdata-sections",
    "-fvisibility=hidden",
    "-DOPUS_BUILD",
    "-DOPUS_EXPORT=",
    "-DVAR_ARRAYS",
    "-DHAVE_LRINT",
    "-DHAVE_LRINTF",
    "-Wno-pragma-pack",
)
"""A float build without FLOAT_APPROX, as the bundled library is: with it ten times as many samples differ."""

PAGES = 16
"""Of 64 KiB: all the memory, 1 MiB. `memory.grow` fails, so that views of it stay valid."""

STACK = 131_072
"""Bytes, below everything else, so that running over it traps and spoils nothing. 18 kB were the deepest in
200 000 calls of tests/js/opus_hostile.test.mjs, which holds it to half."""

LINK = (
    "--no-entry",
    "--gc-sections",
    "--strip-all",
    "--stack-first",
    f"-zstack-size={STACK}",
    f"--initial-memory={PAGES * 65536}",
    f"--max-memory={PAGES * 65536}",
)
