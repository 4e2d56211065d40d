// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* vm2_counter NAME: the value of one of this machine's counters. */
#include "rds_test.h"

int main(int argc, char **argv)
{
	uint64_t value = argc == 2 ? counter(rds_socket(), argv[1]) : UINT64_MAX;

	if (value == UINT64_MAX) {
		fprintf(stderr, "usage: vm2_counter NAME, of a counter that there is\n");
		return 1;
	}
	printf("%llu\n", (unsigned long long)value);
	return 0;
}
