// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "path.h"

#include <linux/random.h>
#include "cm_priv.h"
#include "cong.h"
#include "conn.h"
#include "msg.h"
#include "net.h"
#include "stats.h"
#include "trace.h"
#include "transport.h"
#include "xmit.h"

/* How long connecting may take.  The CM repeats a lost request after 4.3 s at best, so a new attempt before that
 * is faster; but a peer that is slow to answer must get its time, too.
 */
#define RDS_CONNECT_TIMEOUT		(7 * HZ / 2)
#define RDS_CONNECT_TIMEOUT_LONG	(10 * HZ)
#define RDS_CONNECT_QUICK_ATTEMPTS	3

/* How long a peer may take to say whether it is busy, and to close the connection when it is not.  Nothing is sent meanwhile. */
#define RDS_QUIET_TIMEOUT		(10 * HZ)
/* How often the worker looks whether a peer that was asked has answered: receiving need not wake it. */
#define RDS_HEARTBEAT_LOOK		HZ

static struct workqueue_struct *rds_path_wq;

/* Posting */

static void rds_path_kick(struct rds_path *path)
{
	struct rds_conn *conn = rds_path_conn(path);

	/* the worker's reference, unless it is to run anyway and has one */
	rds_conn_get(conn);
	if (!queue_work(rds_path_wq, &path->work))
		rds_conn_put(conn);
}

void rds_path_post(struct rds_path *path, unsigned int bit)
{
	set_bit(bit, &path->events);
	rds_path_kick(path);
}

void rds_ep_post(struct rds_ep *ep, unsigned int bit)
{
	set_bit(bit, &ep->events);
	rds_path_kick(ep->path);
}

void rds_ep_drop(struct rds_ep *ep, enum rds_drop_reason reason, int err)
{
	if (cmpxchg(&ep->reason, RDS_DROP_NONE, reason) == RDS_DROP_NONE)
		ep->err = err;
	rds_ep_post(ep, RDS_EV_LOST);
}

int rds_path_post_request(struct rds_path *path, struct rds_ep *ep)
{
	int err = 0;

	spin_lock_bh(&path->tx_lock);
	if (path->state == RDS_PATH_DEAD)
		err = -ESHUTDOWN;
	else if (path->nr_requests >= RDS_PATH_MAX_REQUESTS)
		err = -EBUSY;
	if (!err) {
		list_add_tail(&ep->request_item, &path->requests);
		path->nr_requests++;
	}
	spin_unlock_bh(&path->tx_lock);
	if (!err)
		rds_path_kick(path);
	return err;
}

static void rds_path_timer(struct timer_list *timer)
{
	struct rds_path *path = from_timer(path, timer, timer);

	rds_path_post(path, RDS_EV_TIMER);
	rds_conn_put(rds_path_conn(path));
}

/* Endpoints */

void rds_ep_init(struct rds_ep *ep, const struct rds_transport *trans, struct rds_path *path,
		 bool active)
{
	kref_init(&ep->ref);
	INIT_LIST_HEAD(&ep->request_item);
	ep->trans = trans;
	ep->path = path;
	ep->active = active;
	rds_conn_get(rds_path_conn(path));
}

void rds_ep_set_peer_generation(struct rds_ep *ep, u16 generation)
{
	struct rds_path *path = ep->path;

	if (!generation)
		return;
	spin_lock_bh(&path->rx_lock);
	if (rds_ep_is_current(ep) && path->peer_generation != generation) {
		path->peer_generation = generation;
		/* a message that overtook the CM's callback is the new one's, and new */
		if (!ep->received)
			path->rx.next = 0;
	}
	spin_unlock_bh(&path->rx_lock);
}

static void rds_ep_release(struct kref *ref)
{
	struct rds_ep *ep = container_of(ref, struct rds_ep, ref);
	struct rds_conn *conn = rds_path_conn(ep->path);

	ep->trans->release(ep);
	rds_conn_put(conn);
}

void rds_ep_put(struct rds_ep *ep)
{
	kref_put(&ep->ref, rds_ep_release);
}

/* The worker: everything below runs in it, and in it alone */

static void rds_path_set(struct rds_path *path, enum rds_path_state state, struct rds_ep *ep)
{
	if (state != path->state)
		trace_rds_path_state(rds_path_conn(path), path->state, state);
	spin_lock_bh(&path->rx_lock);
	spin_lock(&path->tx_lock);
	/* in one step with what lets senders transmit: the map goes first */
	if (state == RDS_PATH_UP && path->state != RDS_PATH_UP)
		WRITE_ONCE(path->map_due, true);
	path->state = state;
	path->ep = ep;
	spin_unlock(&path->tx_lock);
	spin_unlock_bh(&path->rx_lock);
}

static void rds_path_disarm(struct rds_path *path)
{
	if (timer_delete_sync(&path->timer))
		rds_conn_put(rds_path_conn(path));
	clear_bit(RDS_EV_TIMER, &path->events);
}

static void rds_path_arm(struct rds_path *path, unsigned long delay)
{
	rds_path_disarm(path);
	rds_conn_get(rds_path_conn(path));	/* the timer's */
	mod_timer(&path->timer, jiffies + delay);
}

/* A request to connect, ours or the peer's, is being seen to. */
static void rds_path_note_attempt(struct rds_path *path, u64 *counter)
{
	spin_lock_bh(&path->tx_lock);
	++*counter;
	path->history.attempted = ktime_get_real_ns();
	spin_unlock_bh(&path->tx_lock);
}

static void rds_path_note_connect(struct rds_path *path)
{
	spin_lock_bh(&path->tx_lock);
	path->history.connects++;
	path->history.connected = ktime_get_real_ns();
	spin_unlock_bh(&path->tx_lock);
}

static void rds_path_note_drop(struct rds_path *path, enum rds_drop_reason reason, int err)
{
	struct rds_path_history *h = &path->history;

	spin_lock_bh(&path->tx_lock);
	h->drops[h->drop_count++ % RDS_PATH_DROPS] = (struct rds_path_drop){
		.reason	= reason,
		.err	= err,
		.when	= ktime_get_real_ns(),
	};
	spin_unlock_bh(&path->tx_lock);
	rds_stat_inc(rds_path_conn(path)->rn, conn_reset);
	rds_stat_inc_drop(rds_path_conn(path)->rn, reason);
	if (reason == RDS_DROP_PEER_RECONNECTED)
		rds_stat_inc(rds_path_conn(path)->rn, ib_listen_closed_stale);
	trace_rds_path_drop(rds_path_conn(path), reason, err);
}

static void rds_path_arm_connect(struct rds_path *path)
{
	bool quick = ++path->attempts <= RDS_CONNECT_QUICK_ATTEMPTS;

	rds_path_arm(path, quick ? RDS_CONNECT_TIMEOUT : RDS_CONNECT_TIMEOUT_LONG);
}

static struct rds_ep *rds_path_take_request(struct rds_path *path)
{
	struct rds_ep *ep;

	spin_lock_bh(&path->tx_lock);
	ep = list_first_entry_or_null(&path->requests, struct rds_ep, request_item);
	if (ep) {
		list_del_init(&ep->request_item);
		path->nr_requests--;
	}
	spin_unlock_bh(&path->tx_lock);
	return ep;
}

static void rds_path_reject_request(struct rds_path *path)
{
	struct rds_ep *ep = rds_path_take_request(path);

	if (!ep)
		return;
	ep->trans->reject(ep);
	rds_ep_put(ep);
}

/* Of several requests only the newest can still be meant. */
static bool rds_path_has_request(struct rds_path *path)
{
	while (READ_ONCE(path->nr_requests) > 1)
		rds_path_reject_request(path);
	return READ_ONCE(path->nr_requests);
}

static void rds_path_connect(struct rds_path *path)
{
	struct rds_ep *ep;

	rds_path_note_attempt(path, &path->history.requests);
	ep = rds_path_conn(path)->key.trans->connect(path);
	if (IS_ERR(ep)) {
		rds_path_note_drop(path, PTR_ERR(ep) == -EADDRNOTAVAIL ? RDS_DROP_ADDR_CHANGE : RDS_DROP_SETUP,
				   PTR_ERR(ep));
		return;
	}
	rds_path_set(path, RDS_PATH_CONNECTING, ep);
	rds_path_arm_connect(path);
}

static void rds_path_accept(struct rds_path *path)
{
	struct rds_ep *ep = rds_path_take_request(path);
	int err;

	rds_path_note_attempt(path, &path->history.accepts);
	rds_path_set(path, RDS_PATH_CONNECTING, ep);
	rds_path_arm_connect(path);
	err = ep->trans->accept(ep);
	if (err)
		rds_ep_drop(ep, RDS_DROP_SETUP, err);
}

/* At random, so that not all of a machine's connections ask at once. */
static unsigned long rds_heartbeat_delay(const struct rds_sysctl *sysctl)
{
	u32 ms = READ_ONCE(sysctl->heartbeat_interval_secs) * MSEC_PER_SEC;

	return msecs_to_jiffies(ms / 2 + get_random_u32() % ms);
}

/* Look again after a while, if the peer answers at all. */
static void rds_path_arm_heartbeat(struct rds_path *path)
{
	struct rds_ep *ep = path->ep;

	ep->probed = false;
	if (ep->heartbeat)
		rds_path_arm(path, rds_heartbeat_delay(&rds_path_conn(path)->rn->sysctl));
}

/* The device would tell of a machine that is gone when something is sent to it; here it is asked by itself, and also finds a
 * machine whose device answers and nothing else.  Whatever comes in is a sign of life.
 */
static void rds_path_probe(struct rds_path *path)
{
	int timeout = READ_ONCE(rds_path_conn(path)->rn->sysctl.heartbeat_timeout_secs);
	struct rds_ep *ep = path->ep;

	if (ep->quiet) {
		rds_ep_drop(ep, RDS_DROP_IDLE, -ETIMEDOUT);
		return;
	}
	if (!ep->heartbeat)
		return;
	if (!timeout || (ep->probed && READ_ONCE(ep->heard))) {
		rds_path_arm_heartbeat(path);
	} else if (!ep->probed) {
		ep->probed = true;
		ep->probe_end = jiffies + timeout * HZ;
		WRITE_ONCE(ep->heard, false);
		rds_path_arm(path, RDS_HEARTBEAT_LOOK);
		ep->trans->signal(ep, RDS_SIGNAL_PING);
	} else if (time_before(jiffies, ep->probe_end)) {
		rds_path_arm(path, RDS_HEARTBEAT_LOOK);
	} else {
		rds_ep_drop(ep, RDS_DROP_HEARTBEAT, -ETIMEDOUT);
	}
}

static void rds_path_start(struct rds_path *path)
{
	rds_path_disarm(path);
	path->backoff_ms = 0;
	path->attempts = 0;
	WRITE_ONCE(path->used, jiffies);
	rds_path_note_connect(path);
	rds_path_arm_heartbeat(path);
	rds_path_xmit(path);
}

/* Drain the endpoint.  Nobody else uses it afterwards: receivers see under rx_lock that it is
 * not current, a transmit pass cannot find it, and the one that had it has ended.
 */
static void rds_path_close(struct rds_path *path, enum rds_drop_reason reason)
{
	struct rds_ep *ep = path->ep;

	rds_path_disarm(path);
	if (!ep)
		return;
	rds_path_set(path, path->state, NULL);
	wait_event(path->xmit_idle, !READ_ONCE(path->xmit_busy));
	if (ep->quiet && ep->peer_quiet)
		rds_path_note_drop(path, RDS_DROP_IDLE, 0);	/* whoever of us is first */
	else if (rds_ep_is_dropped(ep))
		rds_path_note_drop(path, ep->reason, ep->err);
	else
		rds_path_note_drop(path, reason, 0);
	ep->trans->close(ep);
	rds_path_requeue(path);
	rds_ep_put(ep);
}

/* Is there a reason to be connected?  Something to send, or a peer that once told us that a port
 * is congested: our senders wait for its next word.
 */
static bool rds_path_wanted(struct rds_path *path)
{
	bool wanted;

	spin_lock_bh(&path->tx_lock);
	wanted = !list_empty(&path->send_q);
	spin_unlock_bh(&path->tx_lock);
	return wanted || !rds_cong_bits_empty(rds_path_conn(path)->fmap->bits);
}

/* The first one at once, then after a random time below a doubling bound. */
static void rds_path_retry(struct rds_path *path)
{
	const struct rds_sysctl *sysctl = &rds_path_conn(path)->rn->sysctl;
	unsigned int delay = 0;

	if (!rds_path_wanted(path))
		return;
	if (path->backoff_ms)
		delay = get_random_u32() % path->backoff_ms;
	path->backoff_ms = clamp_t(unsigned int, path->backoff_ms * 2,
				   READ_ONCE(sysctl->reconnect_min_delay_ms),
				   READ_ONCE(sysctl->reconnect_max_delay_ms));
	rds_path_arm(path, msecs_to_jiffies(delay));
}

static void rds_path_bury(struct rds_path *path)
{
	rds_path_disarm(path);
	while (READ_ONCE(path->nr_requests))
		rds_path_reject_request(path);
	rds_path_purge(path);
}

static void rds_path_event(struct rds_path *path, enum rds_path_event event);

static void rds_path_act(struct rds_path *path, enum rds_path_action action,
			 enum rds_drop_reason reason)
{
	switch (action) {
	case RDS_ACT_NONE:
		return;
	case RDS_ACT_CONNECT:
		rds_path_connect(path);
		if (!path->ep)
			rds_path_event(path, RDS_EV_LOST);
		return;
	case RDS_ACT_ACCEPT:
		rds_path_accept(path);
		return;
	case RDS_ACT_REJECT:
		rds_path_reject_request(path);
		return;
	case RDS_ACT_START:
		rds_path_start(path);
		return;
	case RDS_ACT_PROBE:
		rds_path_probe(path);
		return;
	case RDS_ACT_CLOSE:
	case RDS_ACT_CLOSE_ACCEPT:
		/* a request at hand is still on its list and is looked at next */
		rds_path_close(path, reason);
		rds_path_event(path, RDS_EV_CLOSED);
		return;
	case RDS_ACT_RETRY:
		rds_path_retry(path);
		return;
	}
}

/* Why an endpoint is closed that has not said so itself. */
static enum rds_drop_reason rds_path_reason(const struct rds_path *path, enum rds_path_event event)
{
	switch (event) {
	case RDS_EV_KILL:
		return RDS_DROP_NETNS_EXIT;
	case RDS_EV_REQUEST:
		return path->state == RDS_PATH_UP ? RDS_DROP_PEER_RECONNECTED : RDS_DROP_DUEL;
	case RDS_EV_TIMER:
		return RDS_DROP_CONNECT_TIMEOUT;
	case RDS_EV_LOST:
	case RDS_EV_ESTABLISHED:
	case RDS_EV_WANTED:
	case RDS_EV_CLOSED:
	case RDS_PATH_NR_EVENTS:
		break;
	}
	return RDS_DROP_NONE;
}

static struct rds_path_duel rds_path_duel(struct rds_path *path)
{
	const struct rds_conn_key *key = &rds_path_conn(path)->key;
	struct rds_path_duel duel = {};
	struct rds_ep *request;

	spin_lock_bh(&path->tx_lock);
	request = list_first_entry_or_null(&path->requests, struct rds_ep, request_item);
	duel.ordered = request && request->ordered_duel;
	duel.we_asked = path->ep && path->ep->active;
	spin_unlock_bh(&path->tx_lock);
	duel.we_are_smaller = rds_addr_cmp(&key->laddr, &key->faddr) < 0;
	return duel;
}

static void rds_path_event(struct rds_path *path, enum rds_path_event event)
{
	enum rds_drop_reason reason = rds_path_reason(path, event);
	struct rds_path_duel duel = rds_path_duel(path);
	enum rds_path_state old = path->state;
	struct rds_path_move move;

	/* a back-off is running: it will connect when it is over */
	if (event == RDS_EV_WANTED && old == RDS_PATH_DOWN && timer_pending(&path->timer))
		return;
	move = rds_path_next(old, event, &duel);
	if (move.state != old)
		rds_path_set(path, move.state, path->ep);
	rds_path_act(path, move.action, reason);
	if (event == RDS_EV_KILL)
		rds_path_bury(path);
}

static void rds_path_step(struct rds_path *path)
{
	struct rds_ep *ep = path->ep;
	int err = ep->trans->step(ep);

	if (err)
		rds_ep_drop(ep, RDS_DROP_SETUP, err);
}

/* Connections that nobody uses: see RDS_FLAG_QUIET for how they end */

static bool rds_path_is_unused(const struct rds_path *path)
{
	const struct rds_net *rn = container_of(path, struct rds_conn, path)->rn;
	unsigned int seconds = READ_ONCE(rn->sysctl.connection_idle_seconds);

	return seconds && time_after_eq(jiffies, READ_ONCE(path->used) + seconds * HZ);
}

static bool rds_path_is_empty(const struct rds_path *path)
{
	lockdep_assert_held(&path->tx_lock);
	return list_empty(&path->send_q) && list_empty(&path->sent_q) && !path->xmit_msg;
}

/* Nothing of ours is under way, nor due. */
static bool rds_path_is_still(const struct rds_path *path)
{
	struct rds_ep *ep = path->ep;

	return path->state == RDS_PATH_UP && rds_path_is_empty(path) && !READ_ONCE(path->map_due) &&
	       !(ep->trans->busy && ep->trans->busy(ep));
}

/* Both sides are quiet: nothing will be repeated, by us or the peer, so that neither has to know any more what it has received.
 * Nor need it be known with which number we go on, unless something is sent later.
 */
static void rds_path_settle(struct rds_path *path)
{
	spin_lock_bh(&path->rx_lock);
	spin_lock(&path->tx_lock);
	path->rx.next = 0;
	path->settled_seq = path->ep->quiet_seq;
	spin_unlock(&path->tx_lock);
	spin_unlock_bh(&path->rx_lock);
}

/* Become quiet, if nothing is under way: from then on a sender leaves its message in the queue.  Congestion that one side has
 * told of and the other waits for is something under way.
 */
static bool rds_path_hush(struct rds_path *path)
{
	const struct rds_conn *conn = rds_path_conn(path);
	struct rds_ep *ep = path->ep;
	bool hush;

	if (!rds_cong_bits_empty(conn->lmap->bits) || !rds_cong_bits_empty(conn->fmap->bits))
		return false;
	spin_lock_bh(&path->tx_lock);
	hush = rds_path_is_still(path) && (ep->peer_quiet || rds_path_is_unused(path));
	if (hush) {
		ep->quiet = true;
		ep->quiet_seq = path->next_seq;
	}
	spin_unlock_bh(&path->tx_lock);
	if (hush)
		rds_path_arm(path, RDS_QUIET_TIMEOUT);
	return hush;
}

static void rds_path_unused(struct rds_path *path)
{
	struct rds_ep *ep = path->ep;

	if (path->state != RDS_PATH_UP || !ep->can_quiet || ep->quiet)
		return;
	if (rds_path_hush(path))
		ep->trans->signal(ep, RDS_SIGNAL_QUIET);
	else if (rds_path_is_unused(path))	/* for want of acks?  An answer brings them */
		ep->trans->signal(ep, RDS_SIGNAL_PING);
}

static void rds_path_peer_busy(struct rds_path *path)
{
	struct rds_ep *ep = path->ep;

	if (!ep->quiet || ep->peer_quiet)
		return;
	spin_lock_bh(&path->tx_lock);
	ep->quiet = false;
	spin_unlock_bh(&path->tx_lock);
	rds_path_arm_heartbeat(path);
	rds_path_xmit(path);
}

static void rds_path_peer_quiet(struct rds_path *path)
{
	const struct rds_sysctl *sysctl = &rds_path_conn(path)->rn->sysctl;
	struct rds_ep *ep = path->ep;

	if (path->state != RDS_PATH_UP || ep->peer_quiet)
		return;
	ep->peer_quiet = true;
	if (ep->quiet || (READ_ONCE(sysctl->connection_idle_seconds) && rds_path_hush(path))) {
		rds_path_settle(path);
		ep->trans->signal(ep, RDS_SIGNAL_AGREED);
	} else {
		ep->peer_quiet = false;
		ep->trans->signal(ep, RDS_SIGNAL_BUSY);
	}
}

/* So it knows that we are quiet, and what to make of the end of the connection. */
static void rds_path_peer_agreed(struct rds_path *path)
{
	struct rds_ep *ep = path->ep;

	if (path->state != RDS_PATH_UP || !ep->quiet)
		return;
	ep->peer_quiet = true;
	rds_path_settle(path);
	rds_ep_drop(ep, RDS_DROP_IDLE, 0);
}

/* Can the connection be made anew as if it had never been?  What is not acknowledged is on a list, and what was received may be
 * repeated unless the peer has said that it will not.
 */
static bool rds_path_is_settled(const struct rds_path *path)
{
	lockdep_assert_held(&path->tx_lock);
	if (container_of(path, struct rds_conn, path)->key.trans->loopback)
		return true;
	/* with no endpoint nobody writes to rx */
	return path->state == RDS_PATH_DOWN && !path->rx.next &&
	       (path->next_seq == path->settled_seq || !path->history.connects);
}

bool rds_path_collect(struct rds_path *path)
{
	struct rds_conn *conn = rds_path_conn(path);
	bool gone = false;

	lockdep_assert_held(&conn->rn->lock);
	if (!rds_path_is_unused(path))
		return false;
	spin_lock(&path->tx_lock);
	if (rds_path_is_settled(path) && rds_path_is_empty(path))
		gone = refcount_dec_if_one(&conn->ref.refcount);
	else if (path->state == RDS_PATH_UP && path->ep->can_quiet)
		rds_path_post(path, RDS_PATH_UNUSED);
	spin_unlock(&path->tx_lock);
	return gone;
}

static bool rds_ep_take(struct rds_ep *ep, unsigned int bit)
{
	return ep && test_and_clear_bit(bit, &ep->events);
}

/* Handle the most urgent thing posted; false if there is none. */
static bool rds_path_run_one(struct rds_path *path)
{
	if (test_and_clear_bit(RDS_EV_KILL, &path->events))
		rds_path_event(path, RDS_EV_KILL);
	else if (rds_ep_take(path->ep, RDS_EP_PEER_BUSY))
		rds_path_peer_busy(path);
	else if (rds_ep_take(path->ep, RDS_EP_PEER_QUIET))
		rds_path_peer_quiet(path);
	else if (rds_ep_take(path->ep, RDS_EP_PEER_AGREED))
		rds_path_peer_agreed(path);
	else if (rds_ep_take(path->ep, RDS_EV_LOST))
		rds_path_event(path, RDS_EV_LOST);
	else if (rds_path_has_request(path))
		rds_path_event(path, RDS_EV_REQUEST);
	else if (rds_ep_take(path->ep, RDS_EP_STEP))
		rds_path_step(path);
	else if (rds_ep_take(path->ep, RDS_EV_ESTABLISHED))
		rds_path_event(path, RDS_EV_ESTABLISHED);
	else if (test_and_clear_bit(RDS_EV_WANTED, &path->events))
		rds_path_event(path, RDS_EV_WANTED);
	else if (test_and_clear_bit(RDS_EV_TIMER, &path->events))
		rds_path_event(path, RDS_EV_TIMER);
	else if (test_and_clear_bit(RDS_PATH_XMIT, &path->events))
		rds_path_xmit(path);
	else if (test_and_clear_bit(RDS_PATH_UNUSED, &path->events))
		rds_path_unused(path);
	else
		return false;
	return true;
}

static void rds_path_work(struct work_struct *work)
{
	struct rds_path *path = container_of(work, struct rds_path, work);

	while (rds_path_run_one(path))
		cond_resched();
	rds_conn_put(rds_path_conn(path));
}

void rds_path_init(struct rds_path *path)
{
	INIT_WORK(&path->work, rds_path_work);
	timer_setup(&path->timer, rds_path_timer, 0);
	spin_lock_init(&path->rx_lock);
	spin_lock_init(&path->tx_lock);
	INIT_LIST_HEAD(&path->send_q);
	INIT_LIST_HEAD(&path->sent_q);
	INIT_LIST_HEAD(&path->requests);
	init_waitqueue_head(&path->xmit_idle);
	path->state = RDS_PATH_DOWN;
	path->next_seq = 1;
	path->settled_seq = 1;
	path->used = jiffies;
}

void rds_path_flush(struct rds_path *path)
{
	flush_work(&path->work);
}

int rds_path_wq_init(void)
{
	rds_path_wq = alloc_workqueue("rds_sockets", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	return rds_path_wq ? 0 : -ENOMEM;
}

void rds_path_wq_exit(void)
{
	destroy_workqueue(rds_path_wq);
}
