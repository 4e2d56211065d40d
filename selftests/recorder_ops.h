/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The recorder's RDMA operations: what was done, and that it was done once.
 *
 * The target's arena has a slot for each operation that may be under way.  Writes write to it, swaps put their
 * number where there was 0, reads read from what is behind the slots:
 *
 *	target				initiator
 *	KEY, the arena's cookie	-->
 *				<--	START: numbers from here on are meant for this key
 *				<--	OP n, a message with operation n
 *				<--	OVER n, when the notification of n has come; says what it told
 *	DONE n			-->	the slot may be used again
 *				<--	END: no operation will come
 *
 * A write begins with its number and a stamp: how often this machine's connections have broken so far.  The
 * device reads it when it carries out the operation, so one that is carried out again after a reconnect leaves
 * another stamp.  (One that the device itself repeats before it reports it leaves the same: soft-RoCE does
 * that, and nobody above it can tell.)  After OVER the target clears the slot, and nothing may come any more;
 * the initiator overwrites what it has read, and nothing may come there any more either.
 *
 * KEYs are numbered: what is said of an old one is ignored, but notifications are counted to the last.
 */
#ifndef RECORDER_OPS_H
#define RECORDER_OPS_H

#include "recorder.h"

#define OPS_PORT	5200
#define SLOT_LEN	16384
#define MAX_OP_LEN	12000
#define READ_SEED	7
#define QUEUE		64
#define SCRIBBLE	0x55
#define STAMP_MS	20		/* how often the stamp is renewed */
#define KEY_RETRY_MS	200
#define KEYS_OF_A_BOOT	1000

enum ops_kind { OPS_KEY, OPS_START, OPS_OP, OPS_OVER, OPS_DONE, OPS_WANT, OPS_END };

struct ops_msg {
	uint32_t		kind;
	uint32_t		key;		/* its number */
	uint32_t		number;		/* of the operation */
	int32_t			status;
	rds_rdma_cookie_t	cookie;
};

/* What every write begins with. */
struct ops_head {
	uint64_t	serial;		/* number + 1; 0: nothing was written */
	uint64_t	stamp;
};

enum slot_state { SLOT_FREE, SLOT_RUNS, SLOT_NOTIFIED };

/* The initiator's. */
struct slot {
	enum slot_state	state;
	uint32_t	number;
	uint32_t	key;
	char		*local;
	struct rds_iovec iov;
};

/* The target's. */
struct mark {
	uint32_t	least;		/* numbers below this one are over */
	uint64_t	serial;		/* of the write that is here; 0: none */
	uint64_t	stamp;		/* when it was first seen; 0: not yet */
	bool		arrived;	/* its message */
};

struct ops {
	int			fd;
	union rds_addr		to;
	struct ops_msg		queue[QUEUE];
	unsigned int		queued;

	/* as initiator */
	struct slot		slots[SLOTS];
	uint32_t		next, done;	/* number of the next one; how many are over */
	bool			told_end;
	uint32_t		key;		/* in use; 0: none */
	bool			wanted;		/* a new one was asked for */
	rds_rdma_cookie_t	cookie;
	unsigned int		statuses[RDS_RDMA_OTHER_ERROR + 1];

	/* as target */
	char			*arena;
	struct mark		marks[SLOTS];
	uint32_t		my_key;
	rds_rdma_cookie_t	my_cookie;
	bool			key_due;
	int64_t			key_tried;
	bool			started;	/* by my_key */
	bool			ended;		/* the peer has told its end */
};

/* Compare-and-swaps go along with reads and writes. */
static bool ops_swap;
/* A device may go and take all keys with it: failed operations then call for a new key. */
static bool ops_keys_may_die;
/* A peer that is killed does not finish its operations, nor answer those of ours. */
static bool ops_peer_may_die;

static struct ops all[MAX_PAIRS];
static unsigned int nr_all;
static unsigned int notification_errors, repetitions, data_errors;
static bool enough;
static uint64_t stamp = 1;
static int64_t stamped;

/* --- sending ------------------------------------------------------------ */

static bool may_send_later(ssize_t n)
{
	return n == -EAGAIN || n == -ENOBUFS || (memory_may_fail && n == -ENOMEM);
}

static void flush(struct ops *o)
{
	ssize_t n;

	while (o->queued) {
		n = rds_send(o->fd, &o->to, &o->queue[0], sizeof(o->queue[0]), MSG_DONTWAIT);
		if (may_send_later(n))
			return;
		if (n != sizeof(o->queue[0])) {
			data_errors++;
			complain("operations: sending gave %zd", n);
		}
		memmove(o->queue, o->queue + 1, --o->queued * sizeof(o->queue[0]));
		note_progress();
	}
}

static void say(struct ops *o, struct ops_msg msg)
{
	if (o->queued == QUEUE) {
		data_errors++;
		complain("operations: more to say than can be");
		return;
	}
	o->queue[o->queued++] = msg;
	flush(o);
}

/* --- target ------------------------------------------------------------- */

static struct ops_head *head_of(struct ops *o, unsigned int i)
{
	return (struct ops_head *)(o->arena + i * SLOT_LEN);
}

/* What a number stands for, both sides compute. */
static bool is_write(uint32_t number)
{
	return number % 2 == 0;
}

static bool is_swap(uint32_t number)
{
	return ops_swap && number % 4 == 3;
}

static uint32_t op_len(uint32_t number)
{
	return sizeof(struct ops_head) + number * 2654435761u % (MAX_OP_LEN - sizeof(struct ops_head));
}

/* Look at what was written. */
static void inspect(struct ops *o, unsigned int i)
{
	const struct ops_head *head = head_of(o, i);
	uint64_t serial = __atomic_load_n(&head->serial, __ATOMIC_ACQUIRE);
	uint64_t now = __atomic_load_n(&head->stamp, __ATOMIC_ACQUIRE);
	struct mark *mark = &o->marks[i];

	if (!o->started || !serial || (!now && !is_swap(serial - 1)))
		return;
	if (!mark->serial && serial > mark->least)
		mark->serial = serial;
	if (serial != mark->serial) {
		repetitions++;
		complain("operation %llu was carried out after its end",
			 (unsigned long long)serial - 1);
	} else if (mark->stamp && mark->stamp != now) {
		repetitions++;
		complain("operation %llu was carried out twice, with %llu and %llu connections broken",
			 (unsigned long long)serial - 1, (unsigned long long)mark->stamp,
			 (unsigned long long)now);
	}
	mark->stamp = now;
}

/* Nothing below number @least may come here any more. */
static void clear_slot(struct ops *o, unsigned int i, uint32_t least)
{
	memset(head_of(o, i), 0, sizeof(struct ops_head));
	o->marks[i] = (struct mark){ .least = least };
}

/* Make a new key of the arena and tell it. */
static void renew_key(struct ops *o)
{
	unsigned int i;
	int err;

	if (!o->key_due || now_ms() - o->key_tried < KEY_RETRY_MS)
		return;
	o->key_tried = now_ms();
	/* the device may have taken it away already */
	if (o->my_cookie)
		free_mr(o->fd, o->my_cookie);
	o->my_cookie = 0;
	for (i = 0; i < SLOTS; i++)
		clear_slot(o, i, 0);
	err = get_mr(o->fd, o->arena, (SLOTS + 1) * SLOT_LEN, RDS_RDMA_READWRITE, &o->my_cookie);
	if (err && !ops_keys_may_die && !(memory_may_fail && err == -ENOMEM)) {
		data_errors++;
		complain("operations: no key: %d", err);
	}
	if (err)
		return;
	o->key_due = false;
	o->started = false;
	o->my_key++;
	say(o, (struct ops_msg){ .kind = OPS_KEY, .key = o->my_key, .cookie = o->my_cookie });
}

static void on_start(struct ops *o, const struct ops_msg *msg)
{
	unsigned int i;

	/* soft-RoCE made anew may give a new key an old one's number: so there may be what was meant for that */
	for (i = 0; i < SLOTS; i++) {
		if (head_of(o, i)->serial <= msg->number)
			clear_slot(o, i, 0);
		o->marks[i].least = msg->number;
	}
	o->started = true;
}

static void check_written(struct ops *o, const struct ops_msg *msg, unsigned int i)
{
	static char want[SLOT_LEN];
	uint32_t len = is_swap(msg->number) ? sizeof(struct ops_head) : op_len(msg->number);

	fill(want, len, msg->number);
	if (head_of(o, i)->serial == msg->number + 1ULL &&
	    !memcmp((char *)(head_of(o, i) + 1), want + sizeof(struct ops_head),
		    len - sizeof(struct ops_head)))
		return;
	data_errors++;
	complain("message of operation %u is there, its data are not", msg->number);
}

static void on_op(struct ops *o, const struct ops_msg *msg)
{
	unsigned int i = msg->number % SLOTS;

	if (o->marks[i].arrived || msg->number < o->marks[i].least) {
		repetitions++;
		complain("message of operation %u again", msg->number);
	}
	o->marks[i].arrived = true;
	if (!is_write(msg->number) && !is_swap(msg->number))
		return;
	inspect(o, i);
	check_written(o, msg, i);
}

static void on_over(struct ops *o, const struct ops_msg *msg)
{
	unsigned int i = msg->number % SLOTS;

	inspect(o, i);
	if (msg->status == RDS_RDMA_SUCCESS && !o->marks[i].arrived) {
		data_errors++;
		complain("operation %u succeeded, but its message is not there", msg->number);
	}
	clear_slot(o, i, msg->number + 1);
	say(o, (struct ops_msg){ .kind = OPS_DONE, .key = msg->key, .number = msg->number });
}

/* --- initiator ---------------------------------------------------------- */

static void want_key(struct ops *o)
{
	if (o->wanted)
		return;
	o->wanted = true;
	say(o, (struct ops_msg){ .kind = OPS_WANT, .key = o->key });
}

static void release_slot(struct ops *o, struct slot *slot)
{
	slot->state = SLOT_FREE;
	o->done++;
	note_progress();
}

static void on_key(struct ops *o, const struct ops_msg *msg)
{
	unsigned int i;

	/* a peer that was restarted has not got ours */
	if (o->key && o->key / KEYS_OF_A_BOOT != msg->key / KEYS_OF_A_BOOT)
		o->key_due = true;
	o->key = msg->key;
	o->cookie = msg->cookie;
	o->wanted = false;
	/* nobody will say DONE to these */
	for (i = 0; i < SLOTS; i++)
		if (o->slots[i].state == SLOT_NOTIFIED)
			release_slot(o, &o->slots[i]);
	say(o, (struct ops_msg){ .kind = OPS_START, .key = o->key, .number = o->next });
}

static void on_done(struct ops *o, const struct ops_msg *msg)
{
	struct slot *slot = &o->slots[msg->number % SLOTS];

	if (slot->state != SLOT_NOTIFIED || slot->number != msg->number) {
		data_errors++;
		complain("operation %u is said to be done", msg->number);
		return;
	}
	if (!is_write(slot->number) && !all_bytes(slot->local, SLOT_LEN, SCRIBBLE)) {
		repetitions++;
		complain("operation %u wrote after its notification", msg->number);
	}
	release_slot(o, slot);
}

static bool status_may_be(const struct ops *o, const struct slot *slot, int status)
{
	if (status == RDS_RDMA_REMOTE_ERROR)
		return ops_keys_may_die || ops_peer_may_die || slot->key != o->key;
	return status == RDS_RDMA_SUCCESS || status == RDS_RDMA_DROPPED || status == RDS_RDMA_OTHER_ERROR;
}

/* The old value; a swap that soft-RoCE repeats finds what it has put there itself. */
static bool was_swapped(const struct slot *slot)
{
	uint64_t old = *(uint64_t *)slot->local;

	return !old || old == slot->number + 1ULL;
}

static void check_read(const struct slot *slot)
{
	static char want[SLOT_LEN];
	uint32_t len = op_len(slot->number);

	fill(want, len, READ_SEED);
	if (is_swap(slot->number) ? was_swapped(slot) : !memcmp(slot->local, want, len))
		return;
	data_errors++;
	complain("operation %u succeeded, but has read something else: %llx", slot->number,
		 (unsigned long long)*(uint64_t *)slot->local);
}

static void on_notification(struct ops *o, const struct rds_rdma_notify *note)
{
	struct slot *slot = &o->slots[note->user_token % SLOTS];

	if (slot->state != SLOT_RUNS || slot->number != note->user_token ||
	    !status_may_be(o, slot, note->status)) {
		notification_errors++;
		complain("operation %llu: notification with status %d",
			 (unsigned long long)note->user_token, note->status);
		return;
	}
	o->statuses[note->status]++;
	slot->state = SLOT_NOTIFIED;
	if (note->status == RDS_RDMA_SUCCESS)
		note_op_success(slot->number % SLOTS);
	if (note->status == RDS_RDMA_SUCCESS && !is_write(slot->number))
		check_read(slot);
	if (!is_write(slot->number))
		memset(slot->local, SCRIBBLE, SLOT_LEN);
	if (slot->key != o->key)
		release_slot(o, slot);
	else
		say(o, (struct ops_msg){ .kind = OPS_OVER, .key = slot->key, .number = slot->number,
					 .status = note->status });
	if (note->status == RDS_RDMA_REMOTE_ERROR && slot->key == o->key)
		want_key(o);
}

static void prepare_write(struct slot *slot, uint32_t len)
{
	struct ops_head *head = (struct ops_head *)slot->local;

	fill(slot->local, len, slot->number);
	head->serial = slot->number + 1ULL;
	head->stamp = stamp;
}

static void add_swap(struct ops *o, struct slot *slot, struct rds_msg_out *m)
{
	struct rds_atomic_args args = {
		.cookie = o->cookie,
		.local_addr = (uintptr_t)slot->local,
		.remote_addr = slot->number % SLOTS * SLOT_LEN,
		.cswp = { .compare = 0, .swap = slot->number + 1ULL },
		.flags = RDS_RDMA_NOTIFY_ME,
		.user_token = slot->number,
	};

	msg_cmsg(m, SOL_RDS, RDS_CMSG_ATOMIC_CSWP, &args, sizeof(args));
}

static void add_rdma(struct ops *o, struct slot *slot, struct rds_msg_out *m)
{
	uint32_t len = op_len(slot->number);
	uint64_t flags = RDS_RDMA_NOTIFY_ME, place = SLOTS;

	if (is_write(slot->number)) {
		flags |= RDS_RDMA_READWRITE;
		place = slot->number % SLOTS;
		prepare_write(slot, len);
	}
	slot->iov = (struct rds_iovec){ .addr = (uintptr_t)slot->local, .bytes = len };
	msg_rdma(m, o->cookie, place * SLOT_LEN, len, &slot->iov, 1, flags, slot->number);
}

/* Start operation o->next; false if it has to wait. */
static bool operate(struct ops *o)
{
	struct slot *slot = &o->slots[o->next % SLOTS];
	struct ops_msg msg = { .kind = OPS_OP, .key = o->key, .number = o->next };
	struct rds_msg_out m;
	ssize_t n;

	if (slot->state != SLOT_FREE)
		return false;
	slot->number = o->next;
	slot->key = o->key;
	msg_init(&m, &o->to, &msg, sizeof(msg));
	if (is_swap(o->next))
		add_swap(o, slot, &m);
	else
		add_rdma(o, slot, &m);
	n = msg_send(o->fd, &m, MSG_DONTWAIT);
	if (n != sizeof(msg) && !may_send_later(n)) {
		data_errors++;
		complain("operation %u: sending gave %zd", o->next, n);
	}
	if (n != sizeof(msg))
		return false;
	slot->state = SLOT_RUNS;
	note_op_sent(o->next % SLOTS);
	o->next++;
	note_progress();
	return true;
}

/* --- both --------------------------------------------------------------- */

static void on_message(struct ops *o, const struct ops_msg *msg)
{
	bool mine = msg->key == o->my_key, current = msg->key == o->key;

	note_progress();
	if (msg->kind == OPS_KEY)
		on_key(o, msg);
	else if (msg->kind == OPS_WANT && mine)
		o->key_due = true;
	else if (msg->kind == OPS_START && mine)
		on_start(o, msg);
	else if (msg->kind == OPS_OP && mine && o->started)
		on_op(o, msg);
	else if (msg->kind == OPS_OVER && mine && o->started)
		on_over(o, msg);
	else if (msg->kind == OPS_DONE && current)
		on_done(o, msg);
	else if (msg->kind == OPS_END)
		o->ended = true;
}

/* One message, or some notifications; false if there is nothing. */
static bool receive(struct ops *o)
{
	struct rds_msg_in in;
	struct ops_msg msg;
	unsigned int i;
	ssize_t n;

	n = rds_recv(o->fd, &msg, sizeof(msg), MSG_DONTWAIT, &in);
	if (n == -EAGAIN || (memory_may_fail && n == -ENOMEM))
		return false;
	for (i = 0; n >= 0 && i < in.nr_status; i++)
		on_notification(o, &in.status[i]);
	if (n == sizeof(msg)) {
		on_message(o, &msg);
	} else if (n || !in.nr_status) {
		data_errors++;
		complain("operations: receiving gave %zd", n);
		return false;
	}
	return true;
}

/* Tell what is read by the device from now on how many connections have broken. */
static void renew_stamp(void)
{
	uint64_t resets;
	unsigned int i, j;

	if (!nr_all || now_ms() - stamped < STAMP_MS)
		return;
	stamped = now_ms();
	resets = counter(all[0].fd, "conn_reset");
	if (resets == UINT64_MAX || resets + 1 == stamp)
		return;
	stamp = resets + 1;
	for (i = 0; i < nr_all; i++)
		for (j = 0; j < SLOTS; j++)
			if (all[i].slots[j].state == SLOT_RUNS && is_write(all[i].slots[j].number))
				__atomic_store_n(&((struct ops_head *)all[i].slots[j].local)->stamp,
						 stamp, __ATOMIC_RELEASE);
}

/* Start no more operations. */
static void ops_enough(void)
{
	enough = true;
}

static void run_one(struct ops *o)
{
	unsigned int i;

	flush(o);
	while (receive(o))
		;
	for (i = 0; i < SLOTS; i++)
		inspect(o, i);
	renew_key(o);
	while (o->key && !o->wanted && !o->queued && !enough && operate(o))
		;
	if (enough && o->done == o->next && !o->told_end) {
		o->told_end = true;
		say(o, (struct ops_msg){ .kind = OPS_END });
	}
}

/* Do what can be done now. */
static void ops_run(void)
{
	unsigned int i;

	renew_stamp();
	for (i = 0; i < nr_all; i++)
		run_one(&all[i]);
}

/* Descriptors to wait for, their number. */
static unsigned int ops_poll(struct pollfd *pfds)
{
	unsigned int i;

	for (i = 0; i < nr_all; i++)
		pfds[i] = (struct pollfd){ .fd = all[i].fd, .events = POLLIN };
	return nr_all;
}

/* All operations are over, here and there. */
static bool ops_finished(void)
{
	unsigned int i;

	for (i = 0; i < nr_all; i++)
		if (!all[i].told_end || !all[i].ended)
			return false;
	return true;
}

/* Every address pair has one socket on each side for operations on the other's memory: open this side's.
 * @boot: which life of this machine.
 */
static void ops_open(const union rds_addr *my, const union rds_addr *peer, unsigned int boot)
{
	struct ops *o = &all[nr_all++];
	unsigned int i;

	o->fd = open_at(*my, OPS_PORT);
	o->to = addr_with_port(peer, OPS_PORT);
	o->arena = mmap(NULL, (2 * SLOTS + 1) * SLOT_LEN, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (o->arena == MAP_FAILED) {
		printf("Bail out! no memory\n");
		exit(1);
	}
	fill(o->arena + SLOTS * SLOT_LEN, SLOT_LEN, READ_SEED);
	for (i = 0; i < SLOTS; i++)
		o->slots[i].local = o->arena + (SLOTS + 1 + i) * SLOT_LEN;
	o->my_key = boot * KEYS_OF_A_BOOT;
	o->key_due = true;
}

static void ops_summary(void)
{
	unsigned int i, j, runs;

	for (i = 0; i < nr_all; i++) {
		const struct ops *o = &all[i];

		for (j = 0, runs = 0; j < SLOTS; j++)
			runs += o->slots[j].state == SLOT_RUNS;
		printf("# operations: %u started, %u without notification, %u done; success %u, remote error %u, dropped %u, other error %u\n",
		       o->next, runs, o->done, o->statuses[RDS_RDMA_SUCCESS],
		       o->statuses[RDS_RDMA_REMOTE_ERROR], o->statuses[RDS_RDMA_DROPPED],
		       o->statuses[RDS_RDMA_OTHER_ERROR]);
	}
}

/* Notifications that did not come, or were not asked for. */
static unsigned int ops_notification_errors(void)
{
	unsigned int i, j, missing = 0;

	for (i = 0; i < nr_all; i++)
		for (j = 0; j < SLOTS; j++)
			missing += all[i].slots[j].state == SLOT_RUNS;
	return notification_errors + missing;
}

/* Operations that ran twice, or after their end. */
static unsigned int ops_repetitions(void)
{
	return repetitions;
}

/* Data or messages that are not what they should be. */
static unsigned int ops_data_errors(void)
{
	return data_errors;
}

#endif
