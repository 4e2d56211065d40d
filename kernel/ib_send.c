// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The send ring.
 *
 * The owner of the transmit pass takes slots, prepares frames (and the work requests of RDMA
 * operations) in them and links these to a chain; flush posts the chain at once.  Few work requests are
 * signalled; as they complete in order, a completion gives back its slot and all before it.
 *
 * Anything but success drops the endpoint and releases nothing: it is the end of this queue pair,
 * and close() lets go of all that is left once the queue pair has been drained.
 */
#include "ib_send.h"

#include <linux/log2.h>
#include <linux/slab.h>
#include "conn.h"
#include "msg.h"
#include "stats.h"
#include "xmit.h"

#define RDS_IB_RING_MIN		16u
#define RDS_IB_RING_MAX		1024u
/* Slots that stay free: one since drivers round a queue up to 2^n entries of which they use one less,
 * one for the drain's own work request.
 */
#define RDS_IB_RING_SPARE	2
/* And one that only an ack frame may take. */
#define RDS_IB_RING_ACK		1
/* Of so many work requests one is signalled, at least, so that room comes back before the ring is empty. */
#define RDS_IB_SIGNAL_PART	4

/* A want of memory or of mappings: try again after this. */
#define RDS_IB_RETRY_DELAY	(HZ / 50)

/* Sends are looked at this often, and given up when none has completed this many times in a row: a device that
 * neither completes a send nor reports an error (soft-RoCE after its link went away and came back) must not
 * keep a connection, nor may a peer that posts no receive buffers.
 */
#define RDS_IB_WATCH_PERIOD	(2 * HZ)
#define RDS_IB_WATCH_LIMIT	3

static struct rds_net *rds_ib_ep_net(const struct rds_ib_ep *ep)
{
	return rds_path_conn(ep->ep.path)->rn;
}

static unsigned int rds_ib_ring_wrs(unsigned int size)
{
	return size - RDS_IB_RING_SPARE + 1;
}

unsigned int rds_ib_tx_min_wrs(void)
{
	return rds_ib_ring_wrs(RDS_IB_RING_MIN);
}

unsigned int rds_ib_tx_wrs(const struct rds_ib_ep *ep)
{
	return rds_ib_ring_wrs(ep->tx.ring.size);
}

/* A power of two, as near below what is asked for as the device allows. */
static unsigned int rds_ib_ring_size(const struct rds_ib_ep *ep)
{
	unsigned int size = READ_ONCE(rds_ib_ep_net(ep)->sysctl.ib_max_send_wr);

	size = rounddown_pow_of_two(clamp(size, RDS_IB_RING_MIN, RDS_IB_RING_MAX));
	while (rds_ib_ring_wrs(size) > ep->dev->ibdev->attrs.max_qp_wr)
		size /= 2;
	return size;
}

/* Work requests up to the next signalled one, that included. */
static unsigned int rds_ib_signal_every(const struct rds_ib_ep *ep)
{
	unsigned int wrs = READ_ONCE(rds_ib_ep_net(ep)->sysctl.ib_max_unsignaled_wr);

	return min(wrs, ep->tx.ring.size / RDS_IB_SIGNAL_PART);
}

static unsigned int rds_ib_slot_index(const struct rds_ib_ep *ep, const struct rds_ib_slot *slot)
{
	return slot - ep->tx.slots;
}

static struct rds_header *rds_ib_slot_header(const struct rds_ib_ep *ep,
					     const struct rds_ib_slot *slot)
{
	return ep->tx.bufs + rds_ib_slot_index(ep, slot) * RDS_IB_SLOT_BYTES;
}

/* Completions */

/* The work request of @slot is over; @ok: and it, and all before it, succeeded. */
static void rds_ib_slot_release(struct rds_ib_ep *ep, struct rds_ib_slot *slot, bool ok)
{
	if (slot->page_len) {
		ib_dma_unmap_page(ep->dev->ibdev, slot->sge[1].addr, slot->page_len,
				  DMA_TO_DEVICE);
		slot->page_len = 0;
	}
	if (slot->op_last)
		rds_ib_op_end(ep, slot->op, ok ? RDS_RDMA_SUCCESS : RDS_RDMA_DROPPED);
	slot->op_last = false;
	slot->op = NULL;
	if (slot->msg)
		rds_msg_put(slot->msg);
	slot->msg = NULL;
}

static void rds_ib_release_oldest(struct rds_ib_ep *ep, u32 n, bool ok)
{
	struct rds_ring *ring = &ep->tx.ring;
	struct rds_ib_slot *slot;
	bool ack = false;
	u32 i;

	for (i = 0; i < n; i++) {
		slot = &ep->tx.slots[rds_ring_index(ring, ring->tail + i)];
		rds_ib_slot_release(ep, slot, ok);
		ack |= slot->ack;
		slot->ack = false;
	}
	rds_ring_give(ring, n);
	/* whoever sees that no ack frame is in the ring finds the slot that is kept for one: see rds_ib_xmit_ack() */
	if (ack)
		clear_bit_unlock(RDS_IB_ACK_SENDING, &ep->flags);
}

static void rds_ib_send_failed(struct rds_ib_ep *ep, struct rds_ib_slot *slot,
			       enum ib_wc_status status)
{
	enum rds_drop_reason reason = RDS_DROP_SEND_ERROR;

	if (slot->op && status != IB_WC_WR_FLUSH_ERR) {
		if (!slot->op->status)
			slot->op->status = rds_ib_op_status(status);
		reason = status == IB_WC_REM_ACCESS_ERR ? RDS_DROP_REMOTE_ACCESS :
							  RDS_DROP_OP_ERROR;
	}
	rds_ep_drop(&ep->ep, reason, status);
}

static void rds_ib_send_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rds_ib_slot *slot = container_of(wc->wr_cqe, struct rds_ib_slot, cqe);
	struct rds_ib_ep *ep = slot->ep;
	u32 n;

	rds_stat_inc(rds_ib_ep_net(ep), ib_tx_cq_event);
	if (unlikely(wc->status != IB_WC_SUCCESS)) {
		rds_ib_send_failed(ep, slot, wc->status);
		return;
	}
	n = rds_ring_finished(&ep->tx.ring, rds_ib_slot_index(ep, slot));
	if (unlikely(!n)) {
		rds_ep_drop(&ep->ep, RDS_DROP_SEND_ERROR, -EPROTO);
		return;
	}
	rds_ib_release_oldest(ep, n, true);
	/* pairs with the one in rds_ib_tx_take(), and with that of test_and_set_bit() in rds_ib_xmit_ack() */
	smp_mb();
	if (test_and_clear_bit(RDS_IB_WANT_ROOM, &ep->flags) ||
	    (rds_ib_ack_is_due(ep) && !test_bit(RDS_IB_ACK_SENDING, &ep->flags)))
		rds_path_xmit(ep->ep.path);
}

void rds_ib_tx_drop(struct rds_ib_ep *ep)
{
	struct rds_ib_tx *tx = &ep->tx;

	timer_shutdown_sync(&ep->retry);
	timer_shutdown_sync(&ep->watchdog);
	rds_ib_release_oldest(ep, tx->ring.head - tx->ring.tail, false);
	if (tx->op)
		rds_ib_op_end(ep, tx->op, RDS_RDMA_DROPPED);
	tx->op = NULL;
}

/* Taking slots */

static struct rds_ib_slot *rds_ib_try_take(struct rds_ib_ep *ep, u32 spare)
{
	struct rds_ring *ring = &ep->tx.ring;
	u32 counter;

	if (rds_ring_room(ring) <= spare || !rds_ring_take(ring, 1, &counter))
		return NULL;
	return &ep->tx.slots[rds_ring_index(ring, counter)];
}

struct rds_ib_slot *rds_ib_tx_take(struct rds_ib_ep *ep)
{
	struct rds_ib_slot *slot;

	slot = rds_ib_try_take(ep, RDS_IB_RING_SPARE + RDS_IB_RING_ACK);
	if (slot)
		return slot;
	rds_stat_inc(rds_ib_ep_net(ep), ib_tx_ring_full);
	set_bit(RDS_IB_WANT_ROOM, &ep->flags);
	/* either the completion sees the bit, or we see its room */
	smp_mb__after_atomic();
	return rds_ib_try_take(ep, RDS_IB_RING_SPARE + RDS_IB_RING_ACK);
}

void rds_ib_tx_append(struct rds_ib_ep *ep, struct rds_ib_slot *slot, struct ib_send_wr *wr)
{
	struct rds_ib_tx *tx = &ep->tx;

	wr->wr_cqe = &slot->cqe;
	wr->next = NULL;
	if (++tx->unsignalled >= rds_ib_signal_every(ep))
		wr->send_flags |= IB_SEND_SIGNALED;
	if (wr->send_flags & IB_SEND_SIGNALED)
		tx->unsignalled = 0;
	if (tx->last)
		tx->last->next = wr;
	else
		tx->first = wr;
	tx->last = wr;
}

void rds_ib_tx_retry_later(struct rds_ib_ep *ep)
{
	rds_stat_inc(rds_ib_ep_net(ep), send_delayed_retry);
	mod_timer(&ep->retry, jiffies + RDS_IB_RETRY_DELAY);
}

static void rds_ib_retry(struct timer_list *timer)
{
	struct rds_ib_ep *ep = from_timer(ep, timer, retry);

	rds_path_post(ep->ep.path, RDS_PATH_XMIT);
}

static void rds_ib_watch_sends(struct rds_ib_ep *ep)
{
	if (!timer_pending(&ep->watchdog))
		mod_timer(&ep->watchdog, jiffies + RDS_IB_WATCH_PERIOD);
}

static void rds_ib_watchdog(struct timer_list *timer)
{
	struct rds_ib_ep *ep = from_timer(ep, timer, watchdog);
	struct rds_ib_tx *tx = &ep->tx;
	u32 tail = READ_ONCE(tx->ring.tail);

	/* with nothing under way the next flush starts it anew */
	if (tail == READ_ONCE(tx->ring.head)) {
		tx->stalled = 0;
		return;
	}
	tx->stalled = tail == tx->seen_tail ? tx->stalled + 1 : 0;
	if (tx->stalled)
		rds_stat_inc(rds_ib_ep_net(ep), ib_tx_stalled);
	tx->seen_tail = tail;
	if (tx->stalled >= RDS_IB_WATCH_LIMIT)
		rds_ep_drop(&ep->ep, RDS_DROP_SEND_STALLED, -ETIMEDOUT);
	else
		rds_ib_watch_sends(ep);
}

/* Frames */

/* The highest number received so far.  Whoever puts it into a frame has answered what asked for
 * an ack until now.
 */
static u64 rds_ib_take_ack(struct rds_ib_ep *ep, bool *was_due)
{
	*was_due = test_and_clear_bit(RDS_IB_ACK_DUE, &ep->flags);
	/* what comes after this sets the bit anew; see rds_ib_frame_complete() */
	smp_mb__after_atomic();
	return atomic64_read(&ep->rx.done);
}

/* Put @bytes of the slot's own buffer, header first, into its work request. */
static void rds_ib_frame_init(struct rds_ib_ep *ep, struct rds_ib_slot *slot, u32 bytes)
{
	u64 dma = ep->tx.bufs_dma + rds_ib_slot_index(ep, slot) * RDS_IB_SLOT_BYTES;

	ib_dma_sync_single_for_device(ep->dev->ibdev, dma, bytes, DMA_TO_DEVICE);
	slot->sge[0].addr = dma;
	slot->sge[0].length = bytes;
	slot->sge[0].lkey = ep->dev->pd->local_dma_lkey;
	slot->wr.sg_list = slot->sge;
	slot->wr.num_sge = 1;
	slot->wr.opcode = IB_WR_SEND;
	slot->wr.send_flags = 0;
}

/* Add @len bytes of a page as the payload. */
static int rds_ib_frame_add_page(struct rds_ib_ep *ep, struct rds_ib_slot *slot,
				 struct page *page, u32 offset, u32 len)
{
	struct ib_device *ibdev = ep->dev->ibdev;
	u64 dma = ib_dma_map_page(ibdev, page, offset, len, DMA_TO_DEVICE);

	if (ib_dma_mapping_error(ibdev, dma))
		return -EAGAIN;
	slot->sge[1].addr = dma;
	slot->sge[1].length = len;
	slot->sge[1].lkey = ep->dev->pd->local_dma_lkey;
	slot->page_len = len;
	slot->wr.num_sge = 2;
	return 0;
}

static int rds_ib_frame_fill(struct rds_ib_ep *ep, struct rds_ib_slot *slot, struct rds_msg *msg,
			     u32 offset, u32 len)
{
	struct rds_header *hdr = rds_ib_slot_header(ep, slot);
	u32 page_offset;
	struct page *page;

	*hdr = msg->hdr;
	hdr->ack = cpu_to_be64(ep->tx.ack);
	rds_header_seal(hdr);
	if (!len) {
		rds_ib_frame_init(ep, slot, RDS_HEADER_LEN);
		return 0;
	}
	if (rds_payload_is_inline(msg->payload)) {
		memcpy(hdr + 1, rds_payload_data(msg->payload), len);
		rds_ib_frame_init(ep, slot, RDS_HEADER_LEN + len);
		return 0;
	}
	rds_ib_frame_init(ep, slot, RDS_HEADER_LEN);
	page = rds_payload_piece(msg->payload, offset, &page_offset);
	return rds_ib_frame_add_page(ep, slot, page, page_offset, len);
}

/* Does the message wait for one of its operations? */
static bool rds_ib_fenced(const struct rds_msg *msg)
{
	const struct rds_op *op;
	unsigned int i;

	rds_msg_for_each_op(msg, i, op) {
		if (op->fence)
			return true;
	}
	return false;
}

static int rds_ib_xmit_frame(struct rds_ib_ep *ep, struct rds_msg *msg)
{
	struct rds_ib_tx *tx = &ep->tx;
	u32 len = min(msg->len - tx->offset, RDS_FRAG_LEN);
	struct rds_ib_slot *slot = rds_ib_tx_take(ep);
	int err;

	if (!slot)
		return -EAGAIN;
	err = rds_ib_frame_fill(ep, slot, msg, tx->offset, len);
	if (err) {
		rds_stat_inc(rds_ib_ep_net(ep), ib_tx_sg_mapping_failure);
		rds_ring_untake(&tx->ring, 1);
		rds_ib_tx_retry_later(ep);
		return err;
	}
	slot->msg = rds_msg_get(msg);
	tx->offset += len;
	if (tx->offset == msg->len)
		slot->wr.send_flags |= IB_SEND_SOLICITED;
	if (rds_ib_fenced(msg))
		slot->wr.send_flags |= IB_SEND_FENCE;
	rds_ib_tx_append(ep, slot, &slot->wr);
	return 0;
}

/* All fragments carry the same ack, also when room comes in the midst of the message. */
static void rds_ib_xmit_start(struct rds_ib_ep *ep)
{
	bool was_due;

	ep->tx.started = true;
	ep->tx.offset = 0;
	ep->tx.ack = rds_ib_take_ack(ep, &was_due);
	if (was_due)
		rds_stat_inc(rds_ib_ep_net(ep), ib_ack_send_piggybacked);
}

int rds_ib_xmit(struct rds_ep *base, struct rds_msg *msg)
{
	struct rds_ib_ep *ep = rds_ib_ep(base);
	struct rds_ib_tx *tx = &ep->tx;
	int err;

	if (!tx->started) {
		err = rds_ib_xmit_ops(ep, msg);
		if (err)
			return err;
	}
	if (!msg->has_send)
		return 0;
	if (!tx->started)
		rds_ib_xmit_start(ep);
	do {
		err = rds_ib_xmit_frame(ep, msg);
		if (err)
			return err;
	} while (tx->offset < msg->len);
	tx->started = false;
	return 0;
}

static void rds_ib_add_signals(struct rds_ib_ep *ep, struct rds_header *hdr)
{
	struct rds_net *rn = rds_ib_ep_net(ep);

	if (test_and_clear_bit(RDS_IB_QUIET_DUE, &ep->flags))
		hdr->flags |= RDS_FLAG_QUIET;
	if (test_and_clear_bit(RDS_IB_AGREED_DUE, &ep->flags))
		hdr->flags |= RDS_FLAG_AGREED;
	if (test_and_clear_bit(RDS_IB_BUSY_DUE, &ep->flags))
		hdr->flags |= RDS_FLAG_BUSY;
	if (test_and_clear_bit(RDS_IB_PING_DUE, &ep->flags)) {
		hdr->flags |= RDS_FLAG_HB_PING;
		rds_stat_inc(rn, ib_hb_ping_sent);
	}
	if (test_and_clear_bit(RDS_IB_PONG_DUE, &ep->flags)) {
		hdr->flags |= RDS_FLAG_HB_PONG;
		rds_stat_inc(rn, ib_hb_pong_sent);
	}
	if (hdr->flags & (RDS_FLAG_HB_PING | RDS_FLAG_HB_PONG))
		rds_ext_add_caps(hdr, RDS_EXT_CAP_HEARTBEAT);
}

void rds_ib_signal(struct rds_ep *base, enum rds_signal signal)
{
	static const unsigned int bits[] = {
		[RDS_SIGNAL_PING]	= RDS_IB_PING_DUE,
		[RDS_SIGNAL_QUIET]	= RDS_IB_QUIET_DUE,
		[RDS_SIGNAL_AGREED]	= RDS_IB_AGREED_DUE,
		[RDS_SIGNAL_BUSY]	= RDS_IB_BUSY_DUE,
	};

	set_bit(bits[signal], &rds_ib_ep(base)->flags);
	rds_path_xmit(base->path);
}

bool rds_ib_busy(struct rds_ep *base)
{
	const struct rds_ring *ring = &rds_ib_ep(base)->tx.ring;

	return rds_ring_room(ring) != ring->size;
}

static void rds_ib_xmit_ack(struct rds_ib_ep *ep)
{
	struct rds_net *rn = rds_ib_ep_net(ep);
	struct rds_ib_slot *slot;
	struct rds_header *hdr;
	bool was_due;
	u64 ack;

	if (!rds_ib_ack_is_due(ep))
		return;
	/* one at a time; its completion calls for the next */
	if (test_and_set_bit(RDS_IB_ACK_SENDING, &ep->flags)) {
		rds_stat_inc(rn, ib_ack_send_delayed);
		return;
	}
	slot = rds_ib_try_take(ep, RDS_IB_RING_SPARE);
	if (!slot) {
		/* cannot be: the slot kept for it is free */
		clear_bit(RDS_IB_ACK_SENDING, &ep->flags);
		rds_stat_inc(rn, ib_ack_send_failure);
		return;
	}
	ack = rds_ib_take_ack(ep, &was_due);
	hdr = rds_ib_slot_header(ep, slot);
	rds_header_init(hdr, 0, 0, 0, 0);
	hdr->ack = cpu_to_be64(ack);
	rds_ib_add_signals(ep, hdr);
	rds_header_seal(hdr);
	rds_ib_frame_init(ep, slot, RDS_HEADER_LEN);
	slot->ack = true;
	slot->wr.send_flags |= IB_SEND_SOLICITED;
	rds_ib_tx_append(ep, slot, &slot->wr);
	rds_stat_inc(rn, ib_ack_sent);
}

void rds_ib_flush(struct rds_ep *base)
{
	struct rds_ib_ep *ep = rds_ib_ep(base);
	struct rds_ib_tx *tx = &ep->tx;
	const struct ib_send_wr *bad;
	struct ib_send_wr *first;
	int err;

	rds_ib_xmit_ack(ep);
	first = tx->first;
	if (!first)
		return;
	tx->last->send_flags |= IB_SEND_SIGNALED;
	tx->unsignalled = 0;
	tx->first = NULL;
	tx->last = NULL;
	rds_stat_inc(rds_ib_ep_net(ep), ib_posts);
	rds_ib_watch_sends(ep);
	/* what was not posted stays in the ring until close() */
	err = ib_post_send(ep->qp, first, &bad);
	if (err)
		rds_ep_drop(&ep->ep, RDS_DROP_POST_FAILED, err);
}

/* The ring */

int rds_ib_tx_init(struct rds_ib_ep *ep)
{
	struct ib_device *ibdev = ep->dev->ibdev;
	struct rds_ib_tx *tx = &ep->tx;
	unsigned int size = rds_ib_ring_size(ep);
	unsigned int i;
	int err;

	err = rds_ring_init(&tx->ring, size);
	if (err)
		return err;
	tx->slots = kvcalloc(size, sizeof(*tx->slots), GFP_KERNEL);
	if (!tx->slots)
		return -ENOMEM;
	tx->bufs = kcalloc(size, RDS_IB_SLOT_BYTES, GFP_KERNEL);
	if (!tx->bufs)
		goto out_free_slots;
	tx->bufs_dma = ib_dma_map_single(ibdev, tx->bufs, size * RDS_IB_SLOT_BYTES, DMA_TO_DEVICE);
	if (ib_dma_mapping_error(ibdev, tx->bufs_dma))
		goto out_free_bufs;
	for (i = 0; i < size; i++) {
		tx->slots[i].cqe.done = rds_ib_send_done;
		tx->slots[i].ep = ep;
	}
	timer_setup(&ep->retry, rds_ib_retry, 0);
	timer_setup(&ep->watchdog, rds_ib_watchdog, 0);
	return 0;

out_free_bufs:
	kfree(tx->bufs);
out_free_slots:
	kvfree(tx->slots);
	return -ENOMEM;
}

void rds_ib_tx_exit(struct rds_ib_ep *ep)
{
	struct rds_ib_tx *tx = &ep->tx;

	ib_dma_unmap_single(ep->dev->ibdev, tx->bufs_dma, tx->ring.size * RDS_IB_SLOT_BYTES,
			    DMA_TO_DEVICE);
	kfree(tx->bufs);
	kvfree(tx->slots);
}
