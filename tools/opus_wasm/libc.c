/*
 * The five functions of C's library that libopus' decoder is left with, so that the module imports
 * nothing and carries no other library. (lrintf, sqrt, floor and fabs are WebAssembly instructions.)
 *
 * Built with -fno-builtin: the loops below must not become calls of themselves.
 */
#include <stddef.h>
#include <stdint.h>

typedef uint32_t __attribute__((may_alias)) word;

static int words(const void *a, const void *b) { return !(((uintptr_t)a | (uintptr_t)b) & 3); }

void *memcpy(void *restrict to, const void *restrict from, size_t size) {
    unsigned char *t = to;
    const unsigned char *f = from;
    if (words(t, f))
        for (; size >= 4; size -= 4, t += 4, f += 4) *(word *)t = *(const word *)f;
    while (size--) *t++ = *f++;
    return to;
}

void *memmove(void *to, const void *from, size_t size) {
    unsigned char *t = to;
    const unsigned char *f = from;
    if (t <= f || t >= f + size) {
        if (words(t, f))
            for (; size >= 4; size -= 4, t += 4, f += 4) *(word *)t = *(const word *)f;
        while (size--) *t++ = *f++;
        return to;
    }
    t += size;
    f += size;
    if (words(t, f))
        for (; size >= 4; size -= 4) *(word *)(t -= 4) = *(const word *)(f -= 4);
    while (size--) *--t = *--f;
    return to;
}

void *memset(void *to, int value, size_t size) {
    unsigned char *t = to;
    word all = (unsigned char)value * 0x01010101u;
    if (words(t, t))
        for (; size >= 4; size -= 4, t += 4) *(word *)t = all;
    while (size--) *t++ = (unsigned char)value;
    return to;
}

/*
 * e to the x, to about 1e-15 of itself; libopus keeps 6e-8 of it. x = k·ln 2 + r with |r| ≤ 0.35,
 * where fourteen terms of the series reach 1e-17; ln 2 in two parts, so that k·ln 2 is exact.
 */
double exp(double x) {
    if (x != x) return x;
    if (x > 709) return __builtin_inf();
    if (x < -708) return 0; /* below the smallest normal double */
    double k = __builtin_rint(x * 1.4426950408889634);
    double r = x - k * 6.93147180369123816490e-01 - k * 1.90821492927058770002e-10;
    double sum = 1;
    for (int n = 14; n > 0; n--) sum = 1 + sum * r / n;
    union {
        uint64_t bits;
        double value;
    } scale = {(uint64_t)(1023 + (int)k) << 52};
    return sum * scale.value;
}

/*
 * cos x for |x| ≤ 1.6, to about 1e-16: libopus asks for 0 to π/2 only (celt_cos_norm, in exp_rotation
 * of celt/vq.c). The next term of the series would be 1e-20.
 */
double cos(double x) {
    double square = x * x, sum = 1;
    for (int n = 24; n > 0; n -= 2) sum = 1 - sum * square / (n * (n - 1));
    return sum;
}
