// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "observer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LINE	512

int observer_open(void)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = htons(OBSERVER_PORT) };
	const char *text = getenv("PEER_ADDR");
	int fd;

	if (!text || inet_pton(AF_INET, text, &addr.sin_addr) != 1)
		return -EDESTADDRREQ;
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr))) {
		close(fd);
		return -errno;
	}
	return fd;
}

void observer_close(int fd)
{
	close(fd);
}

static int read_line(int fd, char *line)
{
	size_t len = 0;

	while (len < LINE - 1) {
		if (read(fd, line + len, 1) != 1)
			return -EPIPE;
		if (line[len] == '\n')
			break;
		len++;
	}
	line[len] = 0;
	return 0;
}

static int parse_answer(char *line, long long *numbers, int nr)
{
	char *word, *rest = line;
	int n = 0;

	if (!strncmp(line, "err ", 4))
		return -atoi(line + 4);
	word = strtok_r(rest, " ", &rest);
	if (!word || strcmp(word, "ok"))
		return -EPROTO;
	while (n < nr && (word = strtok_r(rest, " ", &rest)))
		numbers[n++] = strtoll(word, NULL, 10);
	return n;
}

static int ask(int fd, long long *numbers, int nr, const char *format, va_list args)
{
	char line[LINE];
	int len, err;

	len = vsnprintf(line, sizeof(line) - 1, format, args);
	if (len < 0 || len >= sizeof(line) - 1)
		return -EMSGSIZE;
	line[len++] = '\n';
	if (send(fd, line, len, MSG_NOSIGNAL) != len)
		return -EPIPE;
	err = read_line(fd, line);
	return err ?: parse_answer(line, numbers, nr);
}

int observer_ask(int fd, long long *numbers, int nr, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = ask(fd, numbers, nr, format, args);
	va_end(args);
	return n;
}

long long observer_get(int fd, const char *format, ...)
{
	long long number = 0;
	va_list args;
	int n;

	va_start(args, format);
	n = ask(fd, &number, 1, format, args);
	va_end(args);
	return n < 0 ? n : number;
}
