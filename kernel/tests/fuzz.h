/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* For the libFuzzer targets here: each states what must hold of any input. */
#ifndef RDS_FUZZ_H
#define RDS_FUZZ_H

#include "../pure.h"

#include <stdio.h>
#include <stdlib.h>

#define MUST(condition)								\
do {										\
	if (!(condition)) {							\
		fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__,	\
			#condition);						\
		abort();							\
	}									\
} while (0)

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

/* Input that is used up from the front. */
struct fuzz_input {
	const u8	*data;
	size_t		left;
};

/* Take @size bytes; false, and nothing taken, if there are fewer. */
static inline bool fuzz_take(struct fuzz_input *in, void *to, size_t size)
{
	if (in->left < size)
		return false;
	memcpy(to, in->data, size);
	in->data += size;
	in->left -= size;
	return true;
}

/* A copy of @size bytes that ends where they end, so that ASan sees a read past them. */
static inline void *fuzz_copy(const void *data, size_t size)
{
	void *copy = malloc(size ? size : 1);

	MUST(copy);
	memcpy(copy, data, size);
	return copy;
}

#endif
