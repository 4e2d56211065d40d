// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "notify.h"

#include <linux/compat.h>
#include <linux/slab.h>
#include <net/compat.h>
#include "rds_uapi.h"
#include "sock.h"

#ifdef CONFIG_COMPAT
/* What a 32-bit program takes for a struct rds_rdma_notify: on some machines it ends earlier. */
struct rds_notify_compat {
	compat_u64	user_token;
	s32		status;
};

static size_t rds_notify_size(const struct msghdr *msg)
{
	return msg->msg_flags & MSG_CMSG_COMPAT ? sizeof(struct rds_notify_compat) :
						  sizeof(struct rds_rdma_notify);
}

static size_t rds_cmsg_head(const struct msghdr *msg)
{
	return msg->msg_flags & MSG_CMSG_COMPAT ? sizeof(struct compat_cmsghdr) : CMSG_LEN(0);
}
#else
static size_t rds_notify_size(const struct msghdr *msg)
{
	return sizeof(struct rds_rdma_notify);
}

static size_t rds_cmsg_head(const struct msghdr *msg)
{
	return CMSG_LEN(0);
}
#endif

void rds_notify_queue(struct rds_sock *rs, struct rds_notify *n)
{
	bool released;

	spin_lock_bh(&rs->rcv_lock);
	released = rs->released;
	if (!released) {
		n->place = rs->next_place++;
		list_add_tail(&n->item, &rs->notifies);
		WRITE_ONCE(rs->nr_notifies, rs->nr_notifies + 1);
	}
	spin_unlock_bh(&rs->rcv_lock);
	if (released)
		kfree(n);
	else
		rs->sk.sk_data_ready(&rs->sk);
}

static struct rds_notify *rds_notify_take(struct rds_sock *rs)
{
	struct rds_notify *n;

	spin_lock_bh(&rs->rcv_lock);
	n = list_first_entry_or_null(&rs->notifies, struct rds_notify, item);
	if (n) {
		list_del(&n->item);
		WRITE_ONCE(rs->nr_notifies, rs->nr_notifies - 1);
	}
	spin_unlock_bh(&rs->rcv_lock);
	return n;
}

/* Back to where it was.  Other readers have found nothing meanwhile. */
static void rds_notify_untake(struct rds_sock *rs, struct rds_notify *n)
{
	struct rds_notify *next;

	spin_lock_bh(&rs->rcv_lock);
	list_for_each_entry(next, &rs->notifies, item) {
		if (next->place > n->place)
			break;
	}
	list_add_tail(&n->item, &next->item);
	WRITE_ONCE(rs->nr_notifies, rs->nr_notifies + 1);
	spin_unlock_bh(&rs->rcv_lock);
	rs->sk.sk_data_ready(&rs->sk);
}

bool rds_cmsg_fits(const struct msghdr *msg, size_t len)
{
	return msg->msg_controllen >= rds_cmsg_head(msg) + len;
}

static int rds_notify_put(struct msghdr *msg, const struct rds_notify *n)
{
	struct rds_rdma_notify status;

	memset(&status, 0, sizeof(status));	/* its padding goes to user space, too */
	status.user_token = n->token;
	status.status = n->status;
	return put_cmsg(msg, SOL_RDS, RDS_CMSG_RDMA_STATUS, rds_notify_size(msg), &status);
}

int rds_notify_recv(struct rds_sock *rs, struct msghdr *msg)
{
	struct rds_notify *n;
	int count = 0;
	int err;

	for (;;) {
		/* taken and put back, it could not be found by a reader who has room */
		if (!rds_cmsg_fits(msg, rds_notify_size(msg))) {
			if (!count && READ_ONCE(rs->nr_notifies))
				msg->msg_flags |= MSG_CTRUNC;
			break;
		}
		n = rds_notify_take(rs);
		if (!n)
			break;
		err = rds_notify_put(msg, n);
		if (err) {
			rds_notify_untake(rs, n);
			/* what was put already is gone from the queue: the next call meets the error */
			return count ?: err;
		}
		kfree(n);
		count++;
	}
	return count;
}

void rds_notify_purge(struct rds_sock *rs)
{
	struct rds_notify *n;

	while ((n = rds_notify_take(rs)))
		kfree(n);
}
