/* Fingerprints and keys of shingles, also without the GIL. */

#ifndef SCRAPY_SIMHASH_SKETCHES_H
#define SCRAPY_SIMHASH_SKETCHES_H

#include "core.h"

#define MOST_BINS 512 /* as Bands allows */

/* What keys.bands._bins returns, and the number of bands. */
typedef struct {
    Py_buffer starts, orders, factors;
    Py_ssize_t bands;
} Bins;

/* The low and the high 64 bits of the fingerprint. */
void vote(const Py_buffer *shingles, uint64_t second, uint64_t made[2]);

/* What two sets have in common; -1 as soon as their similarity is surely less. */
Py_ssize_t count_common(const Py_buffer *a, const Py_buffer *b, double least);

int are_bins(const Bins *with);

/* One key for each band; -1 without hashes. */
int make_bands(const Py_buffer *shingles, const Bins *with, int32_t *keys);

void release_bins(Bins *with);

#endif
