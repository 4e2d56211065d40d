// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Messages of random sizes in both directions between two machines, and a record of what arrives:
 *
 *	recorder MESSAGES FOLDER MY-ADDR PEER-ADDR [MY-ADDR PEER-ADDR]...
 *
 * runs on both, which send MESSAGES each.  For every pair of addresses, SENDERS sockets send to RECEIVERS
 * sockets of the peer, in turn.  What message number n from one socket to another contains, and how long
 * it is, both sides compute from n: so the receiver knows what must come next and compares every byte.
 *
 * It takes its turns with whoever sees both sides by files in FOLDER: creates "ready" when its sockets are
 * bound and waits for "start"; creates "received" when everything has arrived and waits for "end".  Until
 * then the sockets stay open, since what a closed socket has sent need not arrive; and anything that comes
 * is an error.  Results as TAP.
 */
#include <stdarg.h>
#include "rds_test.h"

#define SENDERS		2
#define RECEIVERS	2
#define MAX_PAIRS	4		/* of addresses */
#define FIRST_PORT	5000
#define MAX_LEN		70000
#define BATCH		32		/* messages a socket sends or receives in one go */
#define RETRY_MS	100		/* after a refusal that nothing may announce the end of */
/* Nothing moves for so long: given up.  A connection that breaks is back within seconds. */
#define STALL_MS	120000
#define MAX_COMPLAINTS	20

/* One direction between two sockets. */
struct flow {
	uint64_t	id;		/* the same on both sides, different for every flow */
	uint32_t	next;		/* number of the next message */
	uint32_t	total;
};

struct header {
	uint64_t	flow;
	uint32_t	number;
	uint32_t	len;		/* with this header */
};

struct sender {
	int		fd;
	union rds_addr	to[RECEIVERS];
	struct flow	flow[RECEIVERS];
	unsigned int	turn;		/* the receiver that is next */
	bool		refused;	/* the peer is congested */
	uint32_t	len;		/* of the message in out; 0: none */
	uint64_t	out[MAX_LEN / 8 + 1];
};

struct receiver {
	int		fd;
	struct flow	flow[SENDERS];
};

struct recorder {
	struct sender	senders[MAX_PAIRS * SENDERS];
	struct receiver	receivers[MAX_PAIRS * RECEIVERS];
	unsigned int	nr_senders;
	unsigned int	nr_receivers;
	uint64_t	sent, to_send;
	uint64_t	received, to_receive;
	uint64_t	bytes_sent, bytes_received;
	uint64_t	refusals;
	int64_t		moved;		/* when something was last sent or received */
	unsigned int	lost, repeated, changed, unknown, failed_calls;
	unsigned int	complaints;
};

static struct recorder rec;
static uint64_t in[MAX_LEN / 8 + 1], want[MAX_LEN / 8 + 1];

static void __attribute__((format(printf, 1, 2))) complain(const char *fmt, ...)
{
	va_list args;

	if (rec.complaints++ >= MAX_COMPLAINTS)
		return;
	printf("# ");
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	putchar('\n');
	fflush(stdout);
}

/* --- taking turns ------------------------------------------------------- */

static const char *folder;

static const char *path_of(const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static bool exists(const char *name)
{
	return !access(path_of(name), F_OK);
}

static void create(const char *name)
{
	int fd = open(path_of(name), O_CREAT | O_WRONLY, 0644);

	if (fd < 0)
		printf("Bail out! cannot create %s: %s\n", path_of(name), strerror(errno));
	if (fd < 0)
		exit(1);
	close(fd);
}

/* --- contents ----------------------------------------------------------- */

static uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

/* Mostly small; some that need several frames, among them all lengths around a frame's. */
static uint32_t choose_len(uint64_t random)
{
	const uint32_t least = sizeof(struct header), value = random >> 8;
	const unsigned int kind = random & 0xff;

	if (kind < 150)
		return least + value % 240;
	if (kind < 215)
		return least + value % 4096;
	if (kind < 225)
		return 4096 - 2 + value % 5;
	if (kind < 250)
		return least + value % 16384;
	if (kind < 255)
		return least + value % 65536;
	return MAX_LEN;
}

/* Message @number of @flow into @buf: its length. */
static uint32_t compose(const struct flow *flow, uint32_t number, uint64_t *buf)
{
	uint64_t state = flow->id << 32 ^ number;
	uint32_t len = choose_len(next_random(&state)), i;
	struct header hdr = { .flow = flow->id, .number = number, .len = len };

	memcpy(buf, &hdr, sizeof(hdr));
	/* a random word in eight: generating them all would take longer than sending them */
	for (i = sizeof(hdr) / 8; i < (len + 7) / 8; i++)
		buf[i] = i & 7 ? buf[i - 1] * 3 + i : next_random(&state);
	return len;
}

/* --- sending ------------------------------------------------------------ */

static bool sender_done(const struct sender *s)
{
	return s->flow[s->turn].next == s->flow[s->turn].total;
}

/* Returns whether there may be more to send now. */
static bool send_one(struct sender *s)
{
	struct flow *flow = &s->flow[s->turn];
	ssize_t n;

	if (!s->len)
		s->len = compose(flow, flow->next, s->out);
	n = rds_send(s->fd, &s->to[s->turn], s->out, s->len, MSG_DONTWAIT);
	s->refused = n == -ENOBUFS;
	rec.refusals += s->refused;
	if (n == -EAGAIN || n == -ENOBUFS)
		return false;
	if (n != s->len) {
		rec.failed_calls++;
		complain("flow %llu: sending message %u of %u bytes gave %zd",
			 (unsigned long long)flow->id, flow->next, s->len, n);
		return false;
	}
	flow->next++;
	s->turn = (s->turn + 1) % RECEIVERS;
	rec.sent++;
	rec.bytes_sent += s->len;
	s->len = 0;
	rec.moved = now_ms();
	return !sender_done(s);
}

static void send_some(struct sender *s)
{
	unsigned int i;

	for (i = 0; i < BATCH && !sender_done(s) && send_one(s); i++)
		;
}

/* --- receiving ---------------------------------------------------------- */

static struct flow *find_flow(struct receiver *r, uint64_t id)
{
	unsigned int i;

	for (i = 0; i < SENDERS; i++)
		if (r->flow[i].id == id)
			return &r->flow[i];
	return NULL;
}

static void record(struct receiver *r, ssize_t n, const struct header *hdr)
{
	struct flow *flow = n >= (ssize_t)sizeof(*hdr) ? find_flow(r, hdr->flow) : NULL;
	uint32_t len;

	if (!flow) {
		rec.unknown++;
		complain("a message of %zd bytes that belongs to nothing", n);
		return;
	}
	if (hdr->number < flow->next || hdr->number >= flow->total) {
		rec.repeated++;
		complain("flow %llu: message %u again, or late, %u is next",
			 (unsigned long long)flow->id, hdr->number, flow->next);
		return;
	}
	if (hdr->number > flow->next) {
		rec.lost += hdr->number - flow->next;
		complain("flow %llu: message %u after %u", (unsigned long long)flow->id,
			 hdr->number, flow->next - 1);
	}
	len = compose(flow, hdr->number, want);
	if (n != len || memcmp(in, want, len)) {
		rec.changed++;
		complain("flow %llu: message %u of %u bytes came changed, with %zd bytes",
			 (unsigned long long)flow->id, hdr->number, len, n);
	}
	rec.received += hdr->number + 1 - flow->next;
	flow->next = hdr->number + 1;
	rec.bytes_received += n;
}

static void receive_some(struct receiver *r)
{
	unsigned int i;
	ssize_t n;

	for (i = 0; i < BATCH; i++) {
		n = rds_recv(r->fd, in, sizeof(in), MSG_DONTWAIT, NULL);
		if (n == -EAGAIN)
			return;
		rec.moved = now_ms();
		if (n < 0) {
			rec.failed_calls++;
			complain("receiving gave %zd", n);
			return;
		}
		record(r, n, (const struct header *)in);
	}
}

/* --- the loop ----------------------------------------------------------- */

static bool finished(void)
{
	return rec.sent == rec.to_send && rec.received >= rec.to_receive;
}

static bool stalled(void)
{
	return now_ms() - rec.moved > STALL_MS;
}

/* Wait for something to do. */
static void wait_for_any(struct pollfd *pfds)
{
	unsigned int i, n = 0;

	for (i = 0; i < rec.nr_senders; i++, n++) {
		struct sender *s = &rec.senders[i];

		pfds[n] = (struct pollfd){ .fd = sender_done(s) ? -1 : s->fd, .events = POLLOUT };
		/* a congested peer leaves room to send: what is waited for is its news */
		if (s->refused)
			pfds[n].events = POLLIN;
	}
	for (i = 0; i < rec.nr_receivers; i++, n++)
		pfds[n] = (struct pollfd){ .fd = rec.receivers[i].fd, .events = POLLIN };
	if (poll(pfds, n, RETRY_MS))
		return;
	for (i = 0; i < rec.nr_senders; i++)
		rec.senders[i].refused = false;
}

static void run(void)
{
	struct pollfd pfds[MAX_PAIRS * (SENDERS + RECEIVERS)];
	int64_t told = now_ms();
	unsigned int i;

	rec.moved = told;
	while (!finished() && !stalled() && !rec.failed_calls) {
		wait_for_any(pfds);
		for (i = 0; i < rec.nr_receivers; i++)
			if (pfds[rec.nr_senders + i].revents)
				receive_some(&rec.receivers[i]);
		for (i = 0; i < rec.nr_senders; i++)
			if (pfds[i].revents)
				send_some(&rec.senders[i]);
		if (now_ms() - told > 10000) {
			told = now_ms();
			printf("# sent %llu, received %llu\n", (unsigned long long)rec.sent,
			       (unsigned long long)rec.received);
			fflush(stdout);
		}
	}
}

/* Stay until the end, and see that nothing more comes. */
static unsigned int linger(void)
{
	uint64_t before = rec.repeated + rec.unknown + rec.changed;
	unsigned int i;

	while (!exists("end")) {
		for (i = 0; i < rec.nr_receivers; i++)
			receive_some(&rec.receivers[i]);
		nap();
	}
	return rec.repeated + rec.unknown + rec.changed - before;
}

/* --- set-up ------------------------------------------------------------- */

static int open_at(union rds_addr addr, uint16_t port)
{
	int fd = socket(AF_RDS, SOCK_SEQPACKET | SOCK_NONBLOCK, 0), err;

	addr = addr_with_port(&addr, port);
	err = fd < 0 ? -errno : rds_bind(fd, &addr);
	if (!err)
		return fd;
	printf("Bail out! cannot bind port %u: %s\n", port, strerror(-err));
	exit(1);
}

/* The side with the smaller address numbers its flows from 0, the other from 1000. */
static uint64_t flow_id(bool smaller, unsigned int pair, unsigned int sender, unsigned int receiver)
{
	return (smaller ? 0 : 1000) + pair * 100 + sender * 10 + receiver;
}

static bool is_smaller(const char *a, const char *b)
{
	return strcmp(a, b) < 0;
}

static void open_pair(unsigned int pair, const char *my_text, const char *peer_text, uint32_t per_flow)
{
	union rds_addr my = addr_make(my_text, 0), peer = addr_make(peer_text, 0);
	bool smaller = is_smaller(my_text, peer_text);
	unsigned int i, j;

	for (i = 0; i < SENDERS; i++) {
		struct sender *s = &rec.senders[rec.nr_senders++];

		s->fd = open_at(my, FIRST_PORT + 100 + i);
		for (j = 0; j < RECEIVERS; j++) {
			s->to[j] = addr_with_port(&peer, FIRST_PORT + j);
			s->flow[j].id = flow_id(smaller, pair, i, j);
			s->flow[j].total = per_flow;
		}
	}
	for (j = 0; j < RECEIVERS; j++) {
		struct receiver *r = &rec.receivers[rec.nr_receivers++];

		r->fd = open_at(my, FIRST_PORT + j);
		for (i = 0; i < SENDERS; i++) {
			r->flow[i].id = flow_id(!smaller, pair, i, j);
			r->flow[i].total = per_flow;
		}
	}
}

static int verdict(int number, bool good, const char *name)
{
	printf("%sok %d - %s\n", good ? "" : "not ", number, name);
	fflush(stdout);
	return !good;
}

static void summary(void)
{
	unsigned int i, j;

	printf("# sent %llu (%llu bytes), received %llu (%llu bytes); refused for congestion %llu times\n",
	       (unsigned long long)rec.sent, (unsigned long long)rec.bytes_sent,
	       (unsigned long long)rec.received, (unsigned long long)rec.bytes_received,
	       (unsigned long long)rec.refusals);
	for (i = 0; !finished() && i < rec.nr_senders; i++)
		for (j = 0; j < RECEIVERS; j++)
			printf("# flow %llu: sent %u\n", (unsigned long long)rec.senders[i].flow[j].id,
			       rec.senders[i].flow[j].next);
	for (i = 0; !finished() && i < rec.nr_receivers; i++)
		for (j = 0; j < SENDERS; j++)
			printf("# flow %llu: received %u\n", (unsigned long long)rec.receivers[i].flow[j].id,
			       rec.receivers[i].flow[j].next);
	printf("# lost %u, repeated %u, changed %u, unknown %u\n", rec.lost, rec.repeated, rec.changed,
	       rec.unknown);
}

int main(int argc, char **argv)
{
	unsigned int pairs = argc > 4 ? (argc - 3) / 2 : 0, per_flow, pair;
	int failed = 0;

	if (!pairs || pairs > MAX_PAIRS || argc % 2 == 0) {
		fprintf(stderr, "usage: recorder MESSAGES FOLDER MY-ADDR PEER-ADDR...\n");
		return 2;
	}
	folder = argv[2];
	per_flow = strtoul(argv[1], NULL, 10) / (pairs * SENDERS * RECEIVERS);
	rec.to_send = rec.to_receive = (uint64_t)per_flow * pairs * SENDERS * RECEIVERS;
	printf("TAP version 13\n1..3\n");
	for (pair = 0; pair < pairs; pair++)
		open_pair(pair, argv[3 + 2 * pair], argv[4 + 2 * pair], per_flow);
	create("ready");
	while (!exists("start"))
		nap();
	run();
	summary();
	failed += verdict(1, finished() && !rec.failed_calls, "everything is sent and received");
	failed += verdict(2, !rec.lost && !rec.repeated && !rec.changed && !rec.unknown && rec.received,
			  "each message once, in order, unchanged");
	create("received");
	failed += verdict(3, !linger(), "nothing comes afterwards");
	return failed != 0;
}
