/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "base/sha1.h"

#include <string.h>

#define BLOCK 64

static uint32_t rotl(uint32_t x, unsigned n)
{
	return x << n | x >> (32 - n);
}

static uint32_t load(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void store(uint8_t *p, uint32_t x)
{
	p[0] = (uint8_t)(x >> 24);
	p[1] = (uint8_t)(x >> 16);
	p[2] = (uint8_t)(x >> 8);
	p[3] = (uint8_t)x;
}

struct working {
	uint32_t a, b, c, d, e;
};

static inline void step(struct working *v, uint32_t f, uint32_t k, uint32_t w)
{
	uint32_t t = rotl(v->a, 5) + f + v->e + k + w;
	v->e = v->d;
	v->d = v->c;
	v->c = rotl(v->b, 30);
	v->b = v->a;
	v->a = t;
}

static void expand(uint32_t w[80], const uint8_t *block)
{
	for (unsigned i = 0; i < 16; i++)
		w[i] = load(block + (size_t)i * 4);
	for (unsigned i = 16; i < 80; i++)
		w[i] = rotl(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
}

static void take_block(uint32_t h[5], const uint8_t *block)
{
	uint32_t w[80];
	struct working v = {h[0], h[1], h[2], h[3], h[4]};
	expand(w, block);
	for (unsigned i = 0; i < 20; i++)
		step(&v, (v.b & v.c) | (~v.b & v.d), UINT32_C(0x5a827999), w[i]);
	for (unsigned i = 20; i < 40; i++)
		step(&v, v.b ^ v.c ^ v.d, UINT32_C(0x6ed9eba1), w[i]);
	for (unsigned i = 40; i < 60; i++)
		step(&v, (v.b & v.c) | (v.b & v.d) | (v.c & v.d), UINT32_C(0x8f1bbcdc), w[i]);
	for (unsigned i = 60; i < 80; i++)
		step(&v, v.b ^ v.c ^ v.d, UINT32_C(0xca62c1d6), w[i]);
	h[0] += v.a;
	h[1] += v.b;
	h[2] += v.c;
	h[3] += v.d;
	h[4] += v.e;
}

/* What is left of the message, a one bit, zeros and the length in bits: one block or two. */
static void take_end(uint32_t h[5], const uint8_t *rest, size_t left, uint64_t total)
{
	uint8_t end[2 * BLOCK] = {0};
	size_t size = left + 9 <= BLOCK ? BLOCK : sizeof(end);
	if (left > 0)
		memcpy(end, rest, left);
	end[left] = 0x80;
	store(end + size - 8, (uint32_t)(total * 8 >> 32));
	store(end + size - 4, (uint32_t)(total * 8));
	for (size_t at = 0; at < size; at += BLOCK)
		take_block(h, end + at);
}

void sha1(const void *bytes, size_t n, uint8_t ret[SHA1_SIZE])
{
	uint32_t h[5] = {UINT32_C(0x67452301), UINT32_C(0xefcdab89), UINT32_C(0x98badcfe),
		UINT32_C(0x10325476), UINT32_C(0xc3d2e1f0)};
	const uint8_t *p = bytes;
	size_t left = n;
	for (; left >= BLOCK; p += BLOCK, left -= BLOCK)
		take_block(h, p);
	take_end(h, p, left, n);
	for (size_t i = 0; i < 5; i++)
		store(ret + i * 4, h[i]);
}

static int digit(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = ascii_lower(c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool sha1_of_hex(struct span hex, uint8_t ret[SHA1_SIZE])
{
	uint8_t out[SHA1_SIZE];
	if (hex.len != sizeof(out) * 2)
		return false;
	for (size_t i = 0; i < sizeof(out); i++) {
		int high = digit(hex.ptr[2 * i]), low = digit(hex.ptr[2 * i + 1]);
		if (high < 0 || low < 0)
			return false;
		out[i] = (uint8_t)(high * 16 + low);
	}
	memcpy(ret, out, sizeof(out));
	return true;
}
