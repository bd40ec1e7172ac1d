// The types of the exported functions. No JNI type appears here: another host can call the same library.
#ifndef TIDEMARK_TM_H
#define TIDEMARK_TM_H

#include <stdint.h>

// A byte range. In a reply it is memory of this library: tm_free(p) takes it back; {NULL, 0} when there is none.
typedef struct {
	void *p;
	int64_t n;
} tm_buf;

// What follows is between the C and the Go of this library: not exported.
#define TM_INTERNAL __attribute__((visibility("hidden")))

// C memory for replies; NULL when there is none. Zeroed, so that Go never reads uninitialised bytes as a pointer.
TM_INTERNAL void *tm_alloc(int64_t n);

// Maps n bytes for read buffers; NULL on failure. They are never unmapped: a late reader sees wrong bytes, not a fault.
TM_INTERNAL void *tm_map(int64_t n);

// Counts signal handlers that are functions, and those of them that do not run on the alternate stack. Reads only.
TM_INTERNAL void tm_handlers(int32_t *installed, int32_t *without_onstack);

#endif
