/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Memory regions: user buffers that peers may read and write by key.
 *
 * A region is in the namespace's table and on its socket's list while it is live; whoever ends that revokes it.
 * Revoking ends every access before the pages are unpinned.
 */
#ifndef RDS_MR_H
#define RDS_MR_H

#include <linux/completion.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/rhashtable-types.h>
#include <linux/workqueue.h>
#include "pin.h"

struct rds_domain;
struct rds_net;
struct rds_sock;

/* No region has more pages, whatever a device may take: its length has 32 bits. */
#define RDS_MR_MAX_PAGES	(U32_MAX / PAGE_SIZE)

struct rds_mr_key {
	struct rds_domain	*domain;
	u32			rkey;
	u32			zero;
};

struct rds_mr {
	struct rds_mr_key	key;		/* rkey: set by trans->mr_register() */
	u64			cookie;
	struct rhash_head	node;		/* rn->mrs */
	struct list_head	sock_item;	/* rs->mrs, then rs->revoking, under rs->mr_lock */
	bool			live;		/* on rs->mrs; under rs->mr_lock */
	u64			turn;		/* of its revocation among those of rs */
	struct rds_net		*rn;
	struct rds_sock		*rs;		/* valid while on one of its lists */
	u32			offset;		/* of the first byte in its page */
	u32			len;
	bool			use_once;
	struct rds_pin		pin;
	void			*handle;	/* the transport's */
	struct kref		ref;		/* table; users: copies under way, incoming messages */
	atomic_t		copies;		/* loopback operations under way, plus 1 until revoked */
	struct completion	idle;		/* copies has come down to 0 */
	struct completion	revoked;	/* no peer can touch it, nothing is pinned */
	struct work_struct	work;		/* revoke from a context that must not sleep */
	struct rcu_head		rcu;
};

/* Register the current process's @vec for @rs; stores the cookie in user memory if
 * @args->cookie_addr is set, and in *@cookie if @cookie is not NULL.  Sleeps; no lock held.
 * Errors in abi.md's order: -ENOTCONN, -EOPNOTSUPP, -EINVAL, -EPERM, -EMSGSIZE, -ENOMEM, -EFAULT, and
 * -EAGAIN while the device is away.
 */
int rds_mr_create(struct rds_sock *rs, const struct rds_get_mr_args *args, u64 *cookie);

/* Revoke by full cookie; -EINVAL if @rs has no such region.  Sleeps. */
int rds_mr_free(struct rds_sock *rs, u64 cookie);

/* Is the key of @cookie, whatever its offset, that of a region of @rs?  Sleeps. */
bool rds_mr_owned(struct rds_sock *rs, u64 cookie);

/* A message for @rs says that an operation used @rkey.  A use-once region is taken off and its
 * revocation started; returns it with a reference for rds_mr_wait_revoked(), else NULL.  Any context.
 */
struct rds_mr *rds_mr_used(struct rds_sock *rs, u32 rkey);

/* For loopback: find a region in the domain of @rs, a socket that holds it, and keep it from
 * being revoked until rds_mr_copy_end().  Any context.
 */
struct rds_mr *rds_mr_copy_begin(struct rds_sock *rs, u32 rkey);
void rds_mr_copy_end(struct rds_mr *mr);

/* Sleep until no peer can touch the region any more. */
void rds_mr_wait_revoked(struct rds_mr *mr);
void rds_mr_put(struct rds_mr *mr);

/* Wait for revocations that are under way for @rs now, not for those that begin meanwhile.  Sleeps. */
void rds_mr_flush(struct rds_sock *rs);

/* Revoke all of a socket that is being released.  Sleeps. */
void rds_mr_free_all(struct rds_sock *rs);

int rds_mr_net_init(struct rds_net *rn);
void rds_mr_net_exit(struct rds_net *rn);

#endif
