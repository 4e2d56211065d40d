// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Messages of random sizes in both directions between two machines, and a record of what arrives:
 *
 *	recorder [-o] [-k] [-m] [-l LEN] [-r] [-w] [-b BOOT -f FLOORS] MESSAGES FOLDER MY-ADDR PEER-ADDR...
 *
 * runs on both, which send MESSAGES each.  For every pair of addresses, SENDERS sockets send to RECEIVERS
 * sockets of the peer, in turn.  What message number n from one socket to another contains, and how long
 * it is, both sides compute from n: so the receiver knows what must come next and compares every byte.
 *
 * It takes its turns with whoever sees both sides by files in FOLDER: creates "ready" when its sockets are
 * bound and waits for "start"; creates "received" when everything has arrived and waits for "end".  Until
 * then the sockets stay open, since what a closed socket has sent need not arrive; and anything that comes
 * is an error.  With no MESSAGES it sends until "enough" exists.  When half is through, or 300 messages where
 * their number is open, "half" appears.  Results as TAP.
 *
 *	-o	RDMA operations go along with the messages, reads and writes (recorder_ops.h)
 *	-s	every fourth operation is a compare-and-swap (on both machines, or none)
 *	-k	keys may die with their device
 *	-m	allocations are made to fail: ENOMEM is a reason to try again
 *	-l LEN	no message is longer (on both machines)
 *	-r	the peer will be restarted.  With "half", "floors" tells how much of each flow the peer has
 *		acknowledged, as operations say, or without -o the lists of messages.  From "killed" on it sends
 *		until a send buffer is full, and goes on at "resume".
 *	-w	send nothing before something has arrived
 *	-b BOOT	this is the restarted peer in its life number BOOT, with flows of its own.  Of the flows to it
 *		it gets a part: from any message on that the former life had not acknowledged (FLOORS), all.
 */
#include <getopt.h>
#include <stdarg.h>
#include "info_list.h"
#include "recorder_ops.h"

#define SENDERS		2
#define RECEIVERS	2
#define FIRST_PORT	5000
#define MAX_LEN		70000
#define BATCH		32		/* messages a socket sends or receives in one go */
/* Nothing moves for so long: given up.  A connection that breaks is back within seconds. */
#define STALL_MS	120000
#define MAX_COMPLAINTS	20
#define ENDLESS_HALF	300		/* messages that count as half, where their number is open */
#define RETRY_MS	100		/* after a refusal that nothing may announce the end of */
#define OPS_LOOK_MS	10		/* how often memory is looked at that a peer may write to */

/* One direction between two sockets. */
struct flow {
	uint64_t	id;		/* the same on both sides, different for every flow */
	uint32_t	next;		/* number of the next message */
	uint32_t	total;
	uint32_t	acked;		/* sending: all below this one have been acknowledged */
	uint32_t	at_op[SLOTS];	/* sending: next when the operation in this slot was sent */
	bool		part;		/* receiving: begins with any message from @next on */
	bool		cut;		/* receiving: may end with any message */
};

/* Flows of a restarted machine have numbers of their own. */
#define BOOT_IDS	10000

struct header {
	uint64_t	flow;
	uint32_t	number;
	uint32_t	last;		/* the flow ends with this message */
};

struct sender {
	int		fd;
	union rds_addr	my;
	union rds_addr	to[RECEIVERS];
	struct flow	flow[RECEIVERS];
	unsigned int	turn;		/* the receiver that is next */
	bool		refused;	/* the peer is congested */
	bool		full;		/* its send buffer once was */
	uint32_t	len;		/* of the message in out; 0: none */
	uint64_t	out[MAX_LEN / 8 + 1];
};

struct receiver {
	int		fd;
	struct flow	flow[2 * SENDERS];	/* the later half from a restarted peer */
	unsigned int	nr_flows;
};

struct recorder {
	struct sender	senders[MAX_PAIRS * SENDERS];
	struct receiver	receivers[MAX_PAIRS * RECEIVERS];
	unsigned int	nr_senders;
	unsigned int	nr_receivers;
	uint64_t	sent, received;
	uint64_t	half;		/* of what is to be sent */
	uint64_t	bytes_sent, bytes_received;
	uint64_t	refusals;
	int64_t		moved;		/* when something was last sent or received */
	unsigned int	lost, repeated, changed, unknown, failed_calls;
	unsigned int	complaints;
};

/* Until "enough" says otherwise. */
static bool endless;

/* What -l, -r, -w and -b say. */
static uint32_t longest = MAX_LEN;
static bool peer_restarts, peer_begins;
/* Of the messages, which have a number, some are left for when the peer is dead. */
static bool keeps_reserve;
static unsigned int boot = 1;
static const char *floors = "";

static struct recorder rec;
static uint64_t in[MAX_LEN / 8 + 1], want[MAX_LEN / 8 + 1];

static void note_progress(void)
{
	rec.moved = now_ms();
}

static void complain(const char *fmt, ...)
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
static uint32_t compose(const struct flow *flow, uint32_t number, bool last, uint64_t *buf)
{
	uint64_t state = flow->id << 32 ^ number;
	uint32_t len = choose_len(next_random(&state)), i;
	struct header hdr = { .flow = flow->id, .number = number, .last = last };

	len = len < longest ? len : longest;
	memcpy(buf, &hdr, sizeof(hdr));
	/* a random word in eight: generating them all would take longer than sending them */
	for (i = sizeof(hdr) / 8; i < (len + 7) / 8; i++)
		buf[i] = i & 7 ? buf[i - 1] * 3 + i : next_random(&state);
	return len;
}

/* --- sending ------------------------------------------------------------ */

static bool sender_done(struct sender *s)
{
	unsigned int i;

	for (i = 0; i < RECEIVERS; i++) {
		if (s->flow[s->turn].next < s->flow[s->turn].total)
			return false;
		s->turn = (s->turn + 1) % RECEIVERS;
	}
	return true;
}

/* Returns whether there may be more to send now. */
static bool send_one(struct sender *s)
{
	struct flow *flow = &s->flow[s->turn];
	ssize_t n;

	if (!s->len)
		s->len = compose(flow, flow->next, flow->next + 1 == flow->total, s->out);
	n = rds_send(s->fd, &s->to[s->turn], s->out, s->len, MSG_DONTWAIT);
	s->refused = n == -ENOBUFS;
	rec.refusals += s->refused;
	s->full |= n == -EAGAIN;
	if (n == -EAGAIN || n == -ENOBUFS || (memory_may_fail && n == -ENOMEM))
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
	note_progress();
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

	for (i = 0; i < r->nr_flows; i++)
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
	if (hdr->number > flow->next && !flow->part) {
		rec.lost += hdr->number - flow->next;
		complain("flow %llu: message %u after %u", (unsigned long long)flow->id,
			 hdr->number, flow->next - 1);
	}
	if (hdr->last)
		flow->total = hdr->number + 1;
	len = compose(flow, hdr->number, hdr->last, want);
	if (n != len || memcmp(in, want, len)) {
		rec.changed++;
		complain("flow %llu: message %u of %u bytes came changed, with %zd bytes",
			 (unsigned long long)flow->id, hdr->number, len, n);
	}
	rec.received++;
	flow->next = hdr->number + 1;
	flow->part = false;
	rec.bytes_received += n;
}

/* Once a restarted peer has spoken, its former life has nothing to say any more. */
static void close_former(struct receiver *r, uint64_t id)
{
	struct flow *former = id >= BOOT_IDS ? find_flow(r, id % BOOT_IDS) : NULL;

	if (former)
		former->total = former->next;
}

static void receive_some(struct receiver *r)
{
	unsigned int i;
	ssize_t n;

	for (i = 0; i < BATCH; i++) {
		n = rds_recv(r->fd, in, sizeof(in), MSG_DONTWAIT, NULL);
		if (n == -EAGAIN || (memory_may_fail && n == -ENOMEM))
			return;
		note_progress();
		if (n < 0) {
			rec.failed_calls++;
			complain("receiving gave %zd", n);
			return;
		}
		record(r, n, (const struct header *)in);
		close_former(r, ((const struct header *)in)->flow);
	}
}

/* --- the loop ----------------------------------------------------------- */

static bool all_sent(void)
{
	unsigned int i, j;

	for (i = 0; i < rec.nr_senders; i++)
		for (j = 0; j < RECEIVERS; j++)
			if (rec.senders[i].flow[j].next < rec.senders[i].flow[j].total)
				return false;
	return true;
}

static bool all_received(void)
{
	unsigned int i, j;

	for (i = 0; i < rec.nr_receivers; i++) {
		const struct receiver *r = &rec.receivers[i];

		for (j = 0; j < r->nr_flows; j++)
			if (r->flow[j].next < r->flow[j].total && !r->flow[j].cut)
				return false;
	}
	return true;
}

static bool finished(void)
{
	return all_sent() && all_received() && ops_finished();
}

static bool stalled(void)
{
	return now_ms() - rec.moved > STALL_MS;
}

static void forget_full(void)
{
	unsigned int i;

	for (i = 0; i < rec.nr_senders; i++)
		rec.senders[i].full = false;
}

/* A quarter is kept for when the peer is dead, however fast all goes, if there is an end.  Then what fits the send buffer is
 * enough: until its sockets are back it has nothing to receive with.
 */
static bool holds_back(const struct sender *s)
{
	static bool killed, resumed;

	if (peer_begins && !rec.received)
		return true;
	if (!peer_restarts || resumed)
		return false;
	if (!killed && exists("killed")) {
		killed = true;
		forget_full();
	}
	resumed = exists("resume");
	if (!killed)
		return keeps_reserve && rec.sent > rec.half + rec.half / 2;
	return !resumed && s->full;
}

/* Wait for something to do. */
static void wait_for_any(struct pollfd *pfds)
{
	unsigned int i, n = 0;

	for (i = 0; i < rec.nr_senders; i++, n++) {
		struct sender *s = &rec.senders[i];

		pfds[n] = (struct pollfd){ .fd = sender_done(s) || holds_back(s) ? -1 : s->fd,
					   .events = POLLOUT };
		/* a congested peer leaves room to send: what is waited for is its news */
		if (s->refused)
			pfds[n].events = POLLIN;
	}
	for (i = 0; i < rec.nr_receivers; i++, n++)
		pfds[n] = (struct pollfd){ .fd = rec.receivers[i].fd, .events = POLLIN };
	n += ops_poll(pfds + n);
	/* what operations do nobody announces */
	if (poll(pfds, n, ops_finished() ? RETRY_MS : OPS_LOOK_MS))
		return;
	for (i = 0; i < rec.nr_senders; i++)
		rec.senders[i].refused = false;
}

/* An operation that succeeded tells that its message is acknowledged, and so all that went before it. */
static void note_op_sent(unsigned int slot)
{
	unsigned int i, j;

	for (i = 0; i < rec.nr_senders; i++)
		for (j = 0; j < RECEIVERS; j++)
			rec.senders[i].flow[j].at_op[slot] = rec.senders[i].flow[j].next;
}

static void note_op_success(unsigned int slot)
{
	unsigned int i, j;

	for (i = 0; i < rec.nr_senders; i++)
		for (j = 0; j < RECEIVERS; j++)
			rec.senders[i].flow[j].acked = rec.senders[i].flow[j].at_op[slot];
}

/* How many messages of one flow are on a list. */
static uint32_t count_listed(const struct sender *s, unsigned int j, int opt)
{
	static struct list l;
	struct rds6_info_message *r;
	uint32_t n = 0;

	if (list_read(s->fd, opt, &l) < 0) {
		rec.failed_calls++;
		complain("list %d cannot be read", opt);
		return 0;
	}
	for_each_record(r, l)
		n += is_addr(r->laddr, &s->my) && is_addr(r->faddr, &s->to[j]) &&
		     ntohs(r->lport) == addr_port(&s->my) && ntohs(r->fport) == addr_port(&s->to[j]);
	return n;
}

/* What is on no list any more has been acknowledged.  A message may go from the list of those to be sent to the
 * list of those that were, or back: what is counted twice here makes no floor too high.
 */
static void note_unlisted(struct sender *s, unsigned int j)
{
	uint32_t listed = count_listed(s, j, RDS6_INFO_SEND_MESSAGES) +
			  count_listed(s, j, RDS6_INFO_RETRANS_MESSAGES) +
			  count_listed(s, j, RDS6_INFO_SEND_MESSAGES);

	s->flow[j].acked = s->flow[j].next > listed ? s->flow[j].next - listed : 0;
}

/* Operations tell what is acknowledged; without any, the lists of messages do. */
static void note_acked(void)
{
	unsigned int i, j;

	for (i = 0; !nr_all && i < rec.nr_senders; i++)
		for (j = 0; j < RECEIVERS; j++)
			note_unlisted(&rec.senders[i], j);
}

static void tell_half(void)
{
	FILE *f = fopen(path_of("floors"), "w");
	unsigned int i, j;

	for (i = 0; f && i < rec.nr_senders; i++)
		for (j = 0; j < RECEIVERS; j++)
			fprintf(f, "%llu:%u ", (unsigned long long)rec.senders[i].flow[j].id,
				rec.senders[i].flow[j].acked);
	if (!f || fclose(f))
		complain("cannot write floors");
	create("half");
}

static void watch_half(void)
{
	static bool told;

	/* a file that cannot be made ends the program */
	if (told || memory_may_fail || rec.sent <= rec.half || rec.received <= rec.half / 4)
		return;
	if (peer_restarts)
		note_acked();
	told = !peer_restarts || rec.senders[0].flow[0].acked;
	if (told)
		tell_half();
}

/* One more message, beside the one that may be ready to go. */
static void end_flow(struct sender *s, unsigned int j)
{
	s->flow[j].total = s->flow[j].next + 1 + (s->len && s->turn == j);
}

/* Without an end of their own, flows end with one more message. */
static void watch_enough(void)
{
	unsigned int i, j;

	if (all_sent())
		ops_enough();
	if (!endless || !exists("enough"))
		return;
	endless = false;
	for (i = 0; i < rec.nr_senders; i++)
		for (j = 0; j < RECEIVERS; j++)
			end_flow(&rec.senders[i], j);
}

static void run(void)
{
	struct pollfd pfds[MAX_PAIRS * (SENDERS + RECEIVERS + 1)];
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
		ops_run();
		watch_half();
		watch_enough();
		/* who reads this might not stand a write that fails */
		if (now_ms() - told > 10000 && !memory_may_fail) {
			told = now_ms();
			printf("# sent %llu, received %llu\n", (unsigned long long)rec.sent,
			       (unsigned long long)rec.received);
			fflush(stdout);
		}
	}
}

static unsigned int wrong_messages(void)
{
	return rec.repeated + rec.unknown + rec.changed;
}

/* Stay until the end, and see that nothing more comes. */
static unsigned int linger(void)
{
	uint64_t before = wrong_messages() + ops_repetitions();
	unsigned int i;

	while (!exists("end")) {
		for (i = 0; i < rec.nr_receivers; i++)
			receive_some(&rec.receivers[i]);
		ops_run();
		nap();
	}
	return wrong_messages() + ops_repetitions() - before;
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
static uint64_t first_flow_id(bool smaller, unsigned int pair)
{
	return (smaller ? 0 : 1000) + pair * 100;
}

static bool is_smaller(const char *a, const char *b)
{
	return strcmp(a, b) < 0;
}

/* Of the flows to it, a restarted machine gets a part: from where its former life had not acknowledged. */
static uint32_t floor_of(uint64_t id)
{
	char key[32];
	const char *at;

	snprintf(key, sizeof(key), " %llu:", (unsigned long long)id);
	at = strstr(floors, key);
	return at ? strtoul(at + strlen(key), NULL, 10) : 0;
}

static void open_sender(union rds_addr my, const union rds_addr *peer, uint64_t first_id, unsigned int i,
			uint32_t per_flow)
{
	struct sender *s = &rec.senders[rec.nr_senders++];
	unsigned int j;

	s->my = addr_with_port(&my, FIRST_PORT + 100 + i);
	s->fd = open_at(s->my, addr_port(&s->my));
	for (j = 0; j < RECEIVERS; j++) {
		s->to[j] = addr_with_port(peer, FIRST_PORT + j);
		s->flow[j].id = first_id + i * 10 + j + (boot - 1) * BOOT_IDS;
		s->flow[j].total = per_flow;
	}
}

static void open_receiver(union rds_addr my, uint64_t first_id, unsigned int j, uint32_t per_flow)
{
	struct receiver *r = &rec.receivers[rec.nr_receivers++];
	unsigned int i;

	r->fd = open_at(my, FIRST_PORT + j);
	r->nr_flows = peer_restarts ? 2 * SENDERS : SENDERS;
	for (i = 0; i < r->nr_flows; i++) {
		struct flow *flow = &r->flow[i];

		flow->id = first_id + i % SENDERS * 10 + j + i / SENDERS * BOOT_IDS;
		flow->total = per_flow;
		flow->cut = peer_restarts && i < SENDERS;
		flow->part = boot > 1;
		flow->next = floor_of(flow->id);
	}
}

static void open_pair(unsigned int pair, const char *my_text, const char *peer_text, uint32_t per_flow)
{
	union rds_addr my = addr_make(my_text, 0), peer = addr_make(peer_text, 0);
	bool smaller = is_smaller(my_text, peer_text);
	unsigned int i;

	for (i = 0; i < SENDERS; i++)
		open_sender(my, &peer, first_flow_id(smaller, pair), i, per_flow);
	for (i = 0; i < RECEIVERS; i++)
		open_receiver(my, first_flow_id(!smaller, pair), i, per_flow);
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
		for (j = 0; j < rec.receivers[i].nr_flows; j++)
			printf("# flow %llu: received %u\n", (unsigned long long)rec.receivers[i].flow[j].id,
			       rec.receivers[i].flow[j].next);
	printf("# lost %u, repeated %u, changed %u, unknown %u\n", rec.lost, rec.repeated, rec.changed,
	       rec.unknown);
	ops_summary();
}

static int parse(int argc, char **argv, bool *operations)
{
	int c;

	while ((c = getopt(argc, argv, "oskml:rwb:f:")) != -1) {
		switch (c) {
		case 'o':
			*operations = true;
			break;
		case 's':
			ops_swap = true;
			break;
		case 'k':
			ops_keys_may_die = true;
			break;
		case 'm':
			memory_may_fail = true;
			break;
		case 'l':
			longest = strtoul(optarg, NULL, 10);
			break;
		case 'r':
			peer_restarts = true;
			ops_peer_may_die = true;
			break;
		case 'w':
			peer_begins = true;
			break;
		case 'b':
			boot = strtoul(optarg, NULL, 10);
			break;
		case 'f':
			floors = optarg;
			break;
		default:
			return -1;
		}
	}
	return optind;
}

static void open_all(char **words, unsigned int pairs, uint32_t messages, bool operations)
{
	uint32_t per_flow = messages / (pairs * SENDERS * RECEIVERS);
	unsigned int pair;

	endless = !per_flow;
	if (endless)
		per_flow = UINT32_MAX;
	keeps_reserve = peer_restarts && !endless;
	rec.half = endless ? ENDLESS_HALF : messages / 2;
	for (pair = 0; pair < pairs; pair++) {
		const char *my = words[2 * pair], *peer = words[2 * pair + 1];
		union rds_addr my_addr = addr_make(my, 0), peer_addr = addr_make(peer, 0);

		open_pair(pair, my, peer, per_flow);
		if (operations)
			ops_open(&my_addr, &peer_addr, boot);
	}
}

static int judge(bool operations)
{
	int failed = 0;

	failed += verdict(1, finished() && !rec.failed_calls, "everything is sent and received");
	failed += verdict(2, !rec.lost && !wrong_messages() && rec.received,
			  "each message once, in order, unchanged");
	create("received");
	failed += verdict(3, !linger(), "nothing comes afterwards");
	if (!operations)
		return failed;
	failed += verdict(4, !ops_notification_errors(), "each notification once");
	failed += verdict(5, !ops_data_errors(), "each operation does what it says");
	failed += verdict(6, !ops_repetitions(), "no operation is carried out twice");
	return failed;
}

int main(int argc, char **argv)
{
	bool operations = false;
	int first = parse(argc, argv, &operations), words = argc - first;
	unsigned int pairs = first > 0 && words > 3 ? (words - 2) / 2 : 0;

	if (!pairs || pairs > MAX_PAIRS || words % 2) {
		fprintf(stderr, "usage: recorder [-o] [-k] [-m] [-l LEN] [-r] [-w] [-b N -f FLOORS] MESSAGES FOLDER MY-ADDR PEER-ADDR...\n");
		return 2;
	}
	folder = argv[first + 1];
	/* a copy that meets a page fault without memory gives EFAULT */
	if (memory_may_fail && mlockall(MCL_CURRENT | MCL_FUTURE)) {
		perror("recorder: mlockall");
		return 1;
	}
	printf("TAP version 13\n1..%d\n", operations ? 6 : 3);
	open_all(argv + first + 2, pairs, strtoul(argv[first], NULL, 10), operations);
	create("ready");
	while (!exists("start"))
		nap();
	run();
	summary();
	return judge(operations) != 0;
}
