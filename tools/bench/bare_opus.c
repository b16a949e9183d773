/*
 * Bare libopus: encodes the frames of a file with the settings of abr_tts/audio/opus.py, as fast as it can.
 * What `cost` measures the server against.
 *
 *   bare_opus LIBRARY FRAMES KBPS ROUNDS
 *
 * FRAMES is float32, mono, 24 kHz, whole frames of 20 ms. It prints the processor seconds of all rounds, the
 * bytes of the packets of one round, and a hash of them (FNV-1a, 64 bits).
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { RATE = 24000, FRAME = 480, PACKET = 1276, AUDIO = 2049, VOICE = 3001 };
enum { SET_BITRATE = 4002, SET_VBR = 4006, SET_BANDWIDTH = 4008, SET_COMPLEXITY = 4010, SET_INBAND_FEC = 4012 };
enum { SET_PACKET_LOSS = 4014, SET_DTX = 4016, SET_SIGNAL = 4024, SET_FORCE_MODE = 11002 };
enum { AUTO = -1000, HYBRID = 1000 };

int main(int argc, char **argv) {
    if (argc != 5) return 2;
    void *library = dlopen(argv[1], RTLD_NOW);
    FILE *file = fopen(argv[2], "rb");
    if (!library || !file) return 3;
    void *(*create)(int32_t, int, int, int *) = (void *(*)(int32_t, int, int, int *))dlsym(library, "opus_encoder_create");
    void (*destroy)(void *) = (void (*)(void *))dlsym(library, "opus_encoder_destroy");
    int (*ctl)(void *, int, ...) = (int (*)(void *, int, ...))dlsym(library, "opus_encoder_ctl");
    int32_t (*encode)(void *, const float *, int, unsigned char *, int32_t) =
        (int32_t (*)(void *, const float *, int, unsigned char *, int32_t))dlsym(library, "opus_encode_float");
    fseek(file, 0, SEEK_END);
    long frames = ftell(file) / (long)(FRAME * sizeof(float));
    rewind(file);
    float *pcm = malloc((size_t)frames * FRAME * sizeof(float));
    if (!pcm || fread(pcm, FRAME * sizeof(float), (size_t)frames, file) != (size_t)frames) return 4;
    const int settings[][2] = {{SET_SIGNAL, VOICE}, {SET_COMPLEXITY, 9}, {SET_VBR, 1}, {SET_DTX, 0},
        {SET_INBAND_FEC, 0}, {SET_PACKET_LOSS, 0}, {SET_FORCE_MODE, HYBRID},
        {SET_BITRATE, 1000 * atoi(argv[3])}, {SET_BANDWIDTH, AUTO}};
    unsigned char packet[PACKET];
    uint64_t hash = 0;
    long bytes = 0;
    struct timespec begin, end;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
    for (int round = atoi(argv[4]); round > 0; round--) {
        int error;
        void *encoder = create(RATE, 1, AUDIO, &error);
        for (size_t n = 0; n < sizeof settings / sizeof *settings; n++)
            if (ctl(encoder, settings[n][0], settings[n][1])) return 5;
        hash = 14695981039346656037u;
        bytes = 0;
        for (long n = 0; n < frames; n++) {
            int32_t size = encode(encoder, pcm + n * FRAME, FRAME, packet, PACKET);
            if (size < 0) return 6;
            for (int32_t at = 0; at < size; at++) hash = (hash ^ packet[at]) * 1099511628211u;
            bytes += size;
        }
        destroy(encoder);
    }
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    printf("%.6f %ld %llu\n", (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec),
        bytes, (unsigned long long)hash);
    return 0;
}
