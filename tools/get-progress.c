// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "get-progress.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tool.h"

#define INTERVAL_MS	100

void progress_start(struct progress *p, bool on)
{
	*p = (struct progress){
		.on = on && isatty(STDERR_FILENO),
		.start = now_ms(),
	};
}

const char *rate_text(char *buf, uint64_t bytes, int64_t ms)
{
	size_text(buf, bytes * 1000.0 / (ms > 0 ? ms : 1));
	return strcat(buf, "/s");
}

void progress_show(struct progress *p, uint64_t done, uint64_t size)
{
	char d[SIZE_STRLEN], s[SIZE_STRLEN], r[SIZE_STRLEN + 2];
	int64_t now = now_ms();

	if (!p->on || (now - p->last < INTERVAL_MS && done < size))
		return;
	p->last = now;
	p->shown = true;
	fprintf(stderr, "\r%3.0f %%  %s of %s  %s\033[K",
		size ? 100.0 * done / size : 100.0, size_text(d, done),
		size_text(s, size), rate_text(r, done, now - p->start));
}

void progress_clear(struct progress *p)
{
	if (p->shown)
		fputs("\r\033[K", stderr);
	p->shown = false;
}
