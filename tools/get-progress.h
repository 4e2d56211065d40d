/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* One line on the terminal that tells how far a transfer is. */
#ifndef GET_PROGRESS_H
#define GET_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
	bool	on;		/* wanted, and stderr is a terminal */
	bool	shown;
	int64_t	start;		/* now_ms() */
	int64_t	last;
};

void progress_start(struct progress *p, bool on);
void progress_show(struct progress *p, uint64_t done, uint64_t size);
void progress_clear(struct progress *p);	/* before anything else is written */

/* "12.3 MiB/s" in a buffer of SIZE_STRLEN + 2. */
const char *rate_text(char *buf, uint64_t bytes, int64_t ms);

#endif /* GET_PROGRESS_H */
