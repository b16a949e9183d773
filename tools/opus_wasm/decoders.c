/*
 * What opus.js calls: thirty-two Opus decoders, mono, at 48 kHz, in memory that never grows.
 *
 * Packets are written to `input`, samples appear at `output`; both are shared by all decoders,
 * because one call runs at a time. Every call answers with a count of samples, a handle, or a
 * negative error number of opus_defines.h. Handles are checked: a stale one cannot spoil another's
 * state.
 */
#include <opus.h>

#define EXPORT(name) __attribute__((export_name(#name))) name

enum {
    ABI = 1,            /* raised when a signature below changes; opus.js refuses any other */
    RATE = 48000,       /* the rate of the media clock: clients decode there */
    FRAME = 960,        /* 20 ms */
    FRAMES = 6,         /* 120 ms, the longest legal packet (RFC 6716 section 3.2.5) */
    DECODERS = 32,      /* the 16 streams of a connection (abr_tts/wire/limits.py), two layers each */
    STATE = 18432,      /* bytes; opus_decoder_get_size(1) says 18400 on wasm32 for libopus 1.6.1 */
    INPUT = 8192,       /* bytes; 120 ms at 510 kbit/s, the most that Opus makes, are 7650 */
};

static unsigned char states[DECODERS][STATE] __attribute__((aligned(16)));
static unsigned char taken[DECODERS];
static unsigned char packet[INPUT] __attribute__((aligned(16)));
static float samples[FRAMES * FRAME] __attribute__((aligned(16)));

static OpusDecoder *at(int handle) {
    return handle >= 0 && handle < DECODERS && taken[handle] ? (OpusDecoder *)states[handle] : 0;
}

int EXPORT(abi)(void) { return ABI; }
int EXPORT(decoders)(void) { return DECODERS; }
int EXPORT(input_bytes)(void) { return INPUT; }
unsigned char *EXPORT(input)(void) { return packet; }
float *EXPORT(output)(void) { return samples; }

/* A fresh decoder where the old one was: 18 kB cleared, in 5 µs. */
int EXPORT(reset)(int handle) {
    OpusDecoder *decoder = at(handle);
    return decoder ? opus_decoder_init(decoder, RATE, 1) : OPUS_INVALID_STATE;
}

/* The handle of a fresh decoder; OPUS_ALLOC_FAIL when all are taken. */
int EXPORT(open)(void) {
    if (opus_decoder_get_size(1) > STATE) return OPUS_INTERNAL_ERROR;
    for (int handle = 0; handle < DECODERS; handle++) {
        if (!taken[handle]) {
            taken[handle] = 1;
            int error = reset(handle);
            return error ? error : handle;
        }
    }
    return OPUS_ALLOC_FAIL;
}

int EXPORT(close)(int handle) {
    if (!at(handle)) return OPUS_INVALID_STATE;
    taken[handle] = 0;
    return OPUS_OK;
}

static int run(int handle, int size, int room, int fec) {
    OpusDecoder *decoder = at(handle);
    if (!decoder) return OPUS_INVALID_STATE;
    return opus_decode_float(decoder, size ? packet : 0, size, samples, room, fec);
}

/* The packet of `size` bytes at `input`, of 2.5 to 120 ms. */
int EXPORT(decode)(int handle, int size) {
    return size > 0 && size <= INPUT ? run(handle, size, FRAMES * FRAME, 0) : OPUS_BAD_ARG;
}

/* What the decoder makes of 1 to 6 lost frames. */
int EXPORT(conceal)(int handle, int frames) {
    return frames > 0 && frames <= FRAMES ? run(handle, 0, frames * FRAME, 0) : OPUS_BAD_ARG;
}

/* The lost frame before the packet at `input`, from the copy that it carries (RFC 6716 section 2.1.7). */
int EXPORT(recover)(int handle, int size) {
    return size > 0 && size <= INPUT ? run(handle, size, FRAME, 1) : OPUS_BAD_ARG;
}
