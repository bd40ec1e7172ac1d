#include <stdlib.h>
#include <sys/mman.h>

#include "tm.h"

void *tm_alloc(int64_t n) {
	return n > 0 ? calloc(1, (size_t)n) : NULL;
}

void *tm_map(int64_t n) {
	void *p = mmap(NULL, (size_t)n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return p == MAP_FAILED ? NULL : p;
}
