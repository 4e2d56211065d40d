// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Receiving.
 *
 * All endpoints of a device take their buffers from one shared queue.  A buffer is room for a header,
 * and a page.  Small payloads are copied out and the buffer is posted again as it is; larger ones
 * give their page to the message, and the buffer gets another.  A buffer is always in one place: posted,
 * with the completion handler, on the list of those ready to be posted, or on that of those without a page.
 */
#include "ib_recv.h"

#include <linux/mm.h>
#include <linux/slab.h>
#include "cong.h"
#include "conn.h"
#include "deliver.h"
#include "ib_cm.h"
#include "ib_dev.h"
#include "ib_ep.h"
#include "inc.h"
#include "stats.h"
#include "xmit.h"

/* A message whose next fragment is so late is given up when memory is short.  A peer sends them one
 * after the other, and a lost packet costs it 0.3 s.
 */
#define RDS_IB_RX_STALE		(5 * HZ)

#define RDS_IB_RQ_MIN		64u
#define RDS_IB_RQ_MAX		16384u
/* After a want of memory, try again this much later: when no buffer is left, none comes back to remind us. */
#define RDS_IB_RQ_RETRY_DELAY	(HZ / 10)
/* Buffers are posted this many at a time. */
#define RDS_IB_RQ_BATCH		16
/* Headers do not share cache lines. */
#define RDS_IB_HEADER_STRIDE	64
static_assert(RDS_IB_HEADER_STRIDE >= RDS_HEADER_LEN);

struct rds_ib_rbuf {
	struct ib_cqe		cqe;
	struct rds_ib_device	*dev;
	struct list_head	item;		/* rq->ready or rq->empty */
	struct page		*page;		/* NULL: given away */
	struct rds_header	*hdr;
	struct ib_sge		sge[2];		/* header, page */
	struct ib_recv_wr	wr;
};

/* Buffers */

unsigned int rds_ib_rq_size(const struct rds_ib_device *dev)
{
	unsigned int size = READ_ONCE(dev->rn->sysctl.ib_max_recv_wr);

	return min_t(unsigned int, clamp(size, RDS_IB_RQ_MIN, RDS_IB_RQ_MAX),
		     dev->ibdev->attrs.max_srq_wr);
}

/* Events come when fewer are left than this. */
static unsigned int rds_ib_rq_limit(const struct rds_ib_rq *rq)
{
	return rq->size / 4;
}

static bool rds_ib_rbuf_get_page(struct rds_ib_rbuf *buf, gfp_t gfp)
{
	struct ib_device *ibdev = buf->dev->ibdev;
	struct page *page = alloc_page(gfp | __GFP_NOWARN);
	u64 dma;

	if (!page)
		return false;
	dma = ib_dma_map_page(ibdev, page, 0, RDS_FRAG_LEN, DMA_FROM_DEVICE);
	if (ib_dma_mapping_error(ibdev, dma)) {
		__free_page(page);
		return false;
	}
	buf->page = page;
	buf->sge[1].addr = dma;
	rds_stat_inc(buf->dev->rn, ib_rx_total_frags);
	return true;
}

/* The caller owns the page from now on. */
static struct page *rds_ib_rbuf_take_page(struct rds_ib_rbuf *buf)
{
	struct page *page = buf->page;

	ib_dma_unmap_page(buf->dev->ibdev, buf->sge[1].addr, RDS_FRAG_LEN, DMA_FROM_DEVICE);
	buf->page = NULL;
	return page;
}

/* Have the worker look, at @delay.  Any context. */
static void rds_ib_rq_refill(struct rds_ib_rq *rq, unsigned long delay)
{
	mod_delayed_work(system_wq, &rq->refill, delay);
}

/* Post what is ready; what the device does not take is tried again by the worker. */
static void rds_ib_rq_post(struct rds_ib_rq *rq)
{
	struct ib_recv_wr *first = NULL, **link = &first;
	const struct ib_recv_wr *bad = NULL;
	struct rds_ib_rbuf *buf;
	int err;

	lockdep_assert_held(&rq->lock);
	list_for_each_entry(buf, &rq->ready, item) {
		*link = &buf->wr;
		link = &buf->wr.next;
	}
	*link = NULL;
	if (!first)
		return;
	INIT_LIST_HEAD(&rq->ready);
	rq->nr_ready = 0;
	err = ib_post_srq_recv(rq->srq, first, &bad);
	if (!err)
		return;
	for (; bad; bad = bad->next) {
		buf = container_of(bad, struct rds_ib_rbuf, wr);
		list_add_tail(&buf->item, &rq->ready);
		rq->nr_ready++;
	}
	rds_ib_rq_refill(rq, RDS_IB_RQ_RETRY_DELAY);
}

/* @buf comes back from the completion handler. */
static void rds_ib_rq_return(struct rds_ib_rq *rq, struct rds_ib_rbuf *buf)
{
	bool full = buf->page || rds_ib_rbuf_get_page(buf, GFP_ATOMIC);

	spin_lock_bh(&rq->lock);
	if (!full) {
		list_add_tail(&buf->item, &rq->empty);
		rds_ib_rq_refill(rq, 0);
	} else {
		list_add_tail(&buf->item, &rq->ready);
		if (++rq->nr_ready >= RDS_IB_RQ_BATCH) {
			rds_stat_inc(buf->dev->rn, ib_rx_refill_from_cq);
			rds_ib_rq_post(rq);
		}
	}
	spin_unlock_bh(&rq->lock);
}

static struct rds_ib_rbuf *rds_ib_rq_take_empty(struct rds_ib_rq *rq)
{
	struct rds_ib_rbuf *buf;

	spin_lock_bh(&rq->lock);
	buf = list_first_entry_or_null(&rq->empty, struct rds_ib_rbuf, item);
	if (buf)
		list_del(&buf->item);
	spin_unlock_bh(&rq->lock);
	return buf;
}

/* Give pages to those without, as far as there is memory.  Sleeps. */
static bool rds_ib_rq_fill(struct rds_ib_rq *rq)
{
	struct rds_ib_rbuf *buf;
	bool full = true;

	while (full && (buf = rds_ib_rq_take_empty(rq))) {
		full = rds_ib_rbuf_get_page(buf, GFP_KERNEL);
		spin_lock_bh(&rq->lock);
		list_add_tail(&buf->item, full ? &rq->ready : &rq->empty);
		rq->nr_ready += full;
		spin_unlock_bh(&rq->lock);
	}
	spin_lock_bh(&rq->lock);
	rds_ib_rq_post(rq);
	spin_unlock_bh(&rq->lock);
	return full;
}

static int rds_ib_rq_arm(struct rds_ib_rq *rq)
{
	struct ib_srq_attr attr = { .srq_limit = rds_ib_rq_limit(rq) };

	return ib_modify_srq(rq->srq, &attr, IB_SRQ_LIMIT);
}

static void rds_ib_rq_work(struct work_struct *work)
{
	struct rds_ib_rq *rq = container_of(work, struct rds_ib_rq, refill.work);

	if (READ_ONCE(rq->stopped))
		return;
	rds_stat_inc(container_of(rq, struct rds_ib_device, rq)->rn, ib_rx_refill_from_thread);
	if (!rds_ib_rq_fill(rq))
		rds_ib_rq_refill(rq, RDS_IB_RQ_RETRY_DELAY);
	rds_ib_rq_arm(rq);
}

static void rds_ib_rq_event(struct ib_event *event, void *data)
{
	struct rds_ib_device *dev = data;

	if (event->event != IB_EVENT_SRQ_LIMIT_REACHED)
		return;
	rds_stat_inc(dev->rn, ib_srq_low);
	/* a device may call this from a hard interrupt: no lock */
	rds_ib_rq_refill(&dev->rq, 0);
}

/* Frames */

static enum rds_drop_reason rds_ib_frame_reason(enum rds_frame frame)
{
	switch (frame) {
	case RDS_FRAME_SHORT:
		return RDS_DROP_FRAME_SHORT;
	case RDS_FRAME_BAD_CSUM:
		return RDS_DROP_BAD_CSUM;
	case RDS_FRAME_TOO_LONG:
		return RDS_DROP_TOO_LONG;
	case RDS_FRAME_BAD_LEN:
		return RDS_DROP_BAD_LEN;
	case RDS_FRAME_MISMATCH:
		return RDS_DROP_MISMATCH;
	case RDS_FRAME_ACK:
	case RDS_FRAME_PART:
	case RDS_FRAME_LAST:
		break;
	}
	return RDS_DROP_NONE;
}

/* Peers decide how many messages are begun and not ended, each of up to 1 MiB. */
static unsigned int rds_ib_max_partial_pages(const struct rds_ib_device *dev)
{
	return READ_ONCE(dev->rn->sysctl.ib_max_recv_allocation) / (PAGE_SIZE / RDS_FRAG_LEN);
}

/* One more page: -EDQUOT if there are too many.  Those who hold them for no good are given up then. */
static int rds_ib_rx_count_page(struct rds_ib_ep *ep)
{
	struct rds_ib_device *dev = ep->dev;

	if (atomic_inc_return(&dev->partial_pages) > rds_ib_max_partial_pages(dev)) {
		atomic_dec(&dev->partial_pages);
		rds_stat_inc(dev->rn, ib_rx_alloc_limit);
		rds_ib_dev_drop_stale(dev);
		return -EDQUOT;
	}
	WRITE_ONCE(ep->rx.pages, ep->rx.pages + 1);
	WRITE_ONCE(ep->rx.grown, jiffies);
	return 0;
}

/* The message that was being received leaves the endpoint. */
static struct rds_payload *rds_ib_rx_take(struct rds_ib_ep *ep)
{
	struct rds_payload *payload = ep->rx.partial;

	ep->rx.partial = NULL;
	if (ep->rx.pages)
		atomic_sub(ep->rx.pages, &ep->dev->partial_pages);
	WRITE_ONCE(ep->rx.pages, 0);
	return payload;
}

void rds_ib_rx_drop(struct rds_ib_ep *ep)
{
	struct rds_path *path = ep->ep.path;
	struct rds_payload *payload;

	spin_lock_bh(&path->rx_lock);
	payload = rds_ib_rx_take(ep);
	spin_unlock_bh(&path->rx_lock);
	rds_payload_put(payload);
}

bool rds_ib_rx_is_stale(const struct rds_ib_ep *ep)
{
	return READ_ONCE(ep->rx.pages) &&
	       time_after(jiffies, READ_ONCE(ep->rx.grown) + RDS_IB_RX_STALE);
}

/* Append the frame's @len bytes to the message being received. */
static int rds_ib_take_payload(struct rds_ib_ep *ep, struct rds_ib_rbuf *buf, u32 len)
{
	struct rds_ib_rx *rx = &ep->rx;
	u32 total = be32_to_cpu(rx->reasm.first.len);
	int err;

	if (!len)
		return 0;
	/* room for pages is an array of 16 bytes a page; the pages themselves come as bytes do */
	if (!rx->partial)
		rx->partial = rds_payload_alloc(total, GFP_ATOMIC);
	if (!rx->partial)
		return -ENOMEM;
	if (rds_payload_is_inline(rx->partial)) {
		ib_dma_sync_single_for_cpu(buf->dev->ibdev, buf->sge[1].addr, len,
					   DMA_FROM_DEVICE);
		memcpy(rds_payload_data(rx->partial), page_address(buf->page), len);
		ib_dma_sync_single_for_device(buf->dev->ibdev, buf->sge[1].addr, len,
					      DMA_FROM_DEVICE);
		return 0;
	}
	err = rds_ib_rx_count_page(ep);
	if (!err)
		rds_payload_add_page(rx->partial, rds_ib_rbuf_take_page(buf), 0, len);
	return err;
}

static void rds_ib_map_complete(struct rds_ib_ep *ep, struct rds_payload *payload)
{
	struct rds_conn *conn = rds_path_conn(ep->ep.path);

	if (payload && payload->len == RDS_CONG_MAP_LEN)
		rds_cong_map_update(conn, payload);
	else
		rds_stat_inc(conn->rn, recv_bad_map);
	rds_payload_put(payload);
}

/* On one queue pair numbers only grow: what is to be sent again goes first, in order.  But soft-RoCE, when packets
 * were lost, may send a work request again under a new packet number, and deliver it twice.
 */
static bool rds_ib_frame_is_repeat(const struct rds_ib_ep *ep, u64 seq)
{
	return seq <= atomic64_read(&ep->rx.done);
}

/* A whole message is there.  Returns 0, or why it was not taken, nor will be acknowledged: -ENOMEM, -ENOBUFS. */
static int rds_ib_frame_complete(struct rds_ib_ep *ep)
{
	struct rds_conn *conn = rds_path_conn(ep->ep.path);
	const struct rds_header *hdr = &ep->rx.reasm.first;
	u64 seq = be64_to_cpu(hdr->seq);
	struct rds_inc *inc;
	int err;

	if (rds_header_is_cong_map(hdr)) {
		rds_ib_map_complete(ep, rds_ib_rx_take(ep));
		return 0;
	}
	if (rds_ib_frame_is_repeat(ep, seq)) {
		rds_payload_put(rds_ib_rx_take(ep));
		rds_stat_inc(conn->rn, recv_drop_old_seq);
		return 0;
	}
	inc = rds_inc_alloc(hdr, &conn->key.faddr, &conn->key.laddr, conn->key.scope, GFP_ATOMIC);
	if (!inc)
		return -ENOMEM;
	rds_stat_inc(conn->rn, ib_rx_total_incs);
	inc->tos = conn->key.tos;
	inc->payload = rds_ib_rx_take(ep);
	inc->rx_ns[RDS_RX_HEADER] = ep->rx.header_ns;
	inc->rx_ns[RDS_RX_START] = ep->rx.start_ns;
	err = rds_path_receive(ep->ep.path, hdr, inc);
	if (err)
		return err;

	if (seq > atomic64_read(&ep->rx.done))
		atomic64_set(&ep->rx.done, seq);
	if (hdr->flags & RDS_FLAG_ACK_REQUIRED) {
		/* the number before the bit; see rds_ib_take_ack() */
		smp_mb__before_atomic();
		set_bit(RDS_IB_ACK_DUE, &ep->flags);
	}
	return 0;
}

static void rds_ib_frame_bad(struct rds_ib_ep *ep, enum rds_frame frame)
{
	if (frame == RDS_FRAME_BAD_CSUM)
		rds_stat_inc(rds_path_conn(ep->ep.path)->rn, recv_drop_bad_checksum);
	rds_ep_drop(&ep->ep, rds_ib_frame_reason(frame), -EPROTO);
}

/* Our own request was answered, and the peer's first frame has overtaken the CM's callback that tells us who the
 * peer is: whether a low number is a repeat, or a restarted peer's, cannot be said yet.
 */
static bool rds_ib_frame_is_early(const struct rds_ib_ep *ep, const struct rds_header *hdr)
{
	u64 seq = be64_to_cpu(hdr->seq);

	return ep->ep.active && seq && seq < ep->ep.path->rx.next &&
	       smp_load_acquire(&ep->stage) != RDS_IB_CONNECTED;
}

/* Why a frame that is right was not taken. */
static enum rds_drop_reason rds_ib_take_reason(int err)
{
	switch (err) {
	case -ENOBUFS:
		return RDS_DROP_RECV_OVERRUN;
	case -EDQUOT:
		return RDS_DROP_PARTIAL_LIMIT;
	default:
		return RDS_DROP_NO_MEMORY;
	}
}

static void rds_ib_heartbeat_frame(struct rds_ib_ep *ep, const struct rds_header *hdr)
{
	struct rds_net *rn = rds_path_conn(ep->ep.path)->rn;

	if (hdr->flags & RDS_FLAG_HB_PING) {
		rds_stat_inc(rn, ib_hb_ping_received);
		set_bit(RDS_IB_PONG_DUE, &ep->flags);
	}
	if (hdr->flags & RDS_FLAG_HB_PONG)
		rds_stat_inc(rn, ib_hb_pong_received);
}

/* Its ack has been seen to.  Flags of peers that have not the capability for them mean nothing. */
static void rds_ib_ack_frame(struct rds_ib_ep *ep, const struct rds_header *hdr)
{
	rds_stat_inc(rds_path_conn(ep->ep.path)->rn, ib_ack_received);
	if (READ_ONCE(ep->ep.heartbeat))
		rds_ib_heartbeat_frame(ep, hdr);
	if (!READ_ONCE(ep->ep.can_quiet))
		return;
	if (hdr->flags & RDS_FLAG_BUSY)
		rds_ep_post(&ep->ep, RDS_EP_PEER_BUSY);
	if (hdr->flags & RDS_FLAG_QUIET)
		rds_ep_post(&ep->ep, RDS_EP_PEER_QUIET);
	if (hdr->flags & RDS_FLAG_AGREED)
		rds_ep_post(&ep->ep, RDS_EP_PEER_AGREED);
}

/* Judge a frame and take what it brings. */
static void rds_ib_frame(struct rds_ib_ep *ep, struct rds_ib_rbuf *buf, u32 bytes)
{
	const struct rds_header *hdr = buf->hdr;
	u64 seen_ns = ktime_get_ns();
	enum rds_frame frame;
	u32 offset;
	int err;

	frame = rds_reasm_frame(&ep->rx.reasm, hdr, bytes, &offset);
	if (rds_frame_is_error(frame)) {
		rds_ib_frame_bad(ep, frame);
		return;
	}
	if (!rds_path_acked(&ep->ep, be64_to_cpu(hdr->ack))) {
		rds_ep_drop(&ep->ep, RDS_DROP_BAD_ACK, -EPROTO);
		return;
	}
	if (rds_ib_frame_is_early(ep, hdr)) {
		rds_ep_drop(&ep->ep, RDS_DROP_EARLY_REPEAT, 0);
		return;
	}
	if (frame == RDS_FRAME_ACK) {
		rds_ib_ack_frame(ep, hdr);
		return;
	}
	if (!offset) {
		ep->rx.header_ns = seen_ns;
		ep->rx.start_ns = ktime_get_ns();
	}
	err = rds_ib_take_payload(ep, buf, bytes - RDS_HEADER_LEN);
	if (!err && frame == RDS_FRAME_LAST)
		err = rds_ib_frame_complete(ep);
	if (err)
		rds_ep_drop(&ep->ep, rds_ib_take_reason(err), err);
}

static void rds_ib_receive(struct rds_ib_ep *ep, struct rds_ib_rbuf *buf, u32 bytes)
{
	struct rds_path *path = ep->ep.path;

	ib_dma_sync_single_for_cpu(buf->dev->ibdev, buf->sge[0].addr, RDS_HEADER_LEN,
				   DMA_FROM_DEVICE);
	rds_ib_peer_sends(ep);
	spin_lock_bh(&path->rx_lock);
	/* with a reason to be dropped, what follows cannot be trusted, or would leave a gap */
	if (rds_ep_is_current(&ep->ep) && READ_ONCE(ep->ep.reason) == RDS_DROP_NONE)
		rds_ib_frame(ep, buf, bytes);
	spin_unlock_bh(&path->rx_lock);
	ib_dma_sync_single_for_device(buf->dev->ibdev, buf->sge[0].addr, RDS_HEADER_LEN,
				      DMA_FROM_DEVICE);
	if (rds_ib_ack_is_due(ep))
		rds_path_xmit(path);
}

static void rds_ib_recv_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rds_ib_rbuf *buf = container_of(wc->wr_cqe, struct rds_ib_rbuf, cqe);
	struct rds_ib_device *dev = buf->dev;
	struct rds_ib_ep *ep;

	/* only the pointer's value is used: the queue pair may be gone */
	ep = rds_ib_dev_find_qp(dev, wc->qp);
	if (ep)
		rds_stat_inc(rds_path_conn(ep->ep.path)->rn, ib_rx_cq_event);
	if (ep && wc->status == IB_WC_SUCCESS)
		rds_ib_receive(ep, buf, wc->byte_len);
	else if (ep && wc->status != IB_WC_WR_FLUSH_ERR)
		rds_ep_drop(&ep->ep, RDS_DROP_RECV_ERROR, wc->status);
	rds_ib_rq_return(&dev->rq, buf);
}

/* Set-up */

static void rds_ib_rbuf_init(struct rds_ib_device *dev, unsigned int i)
{
	struct rds_ib_rq *rq = &dev->rq;
	struct rds_ib_rbuf *buf = &rq->bufs[i];

	buf->cqe.done = rds_ib_recv_done;
	buf->dev = dev;
	buf->hdr = rq->headers + i * RDS_IB_HEADER_STRIDE;
	buf->sge[0].addr = rq->headers_dma + i * RDS_IB_HEADER_STRIDE;
	buf->sge[0].length = RDS_HEADER_LEN;
	buf->sge[0].lkey = dev->pd->local_dma_lkey;
	buf->sge[1].length = RDS_FRAG_LEN;
	buf->sge[1].lkey = dev->pd->local_dma_lkey;
	buf->wr.wr_cqe = &buf->cqe;
	buf->wr.sg_list = buf->sge;
	buf->wr.num_sge = 2;
	list_add_tail(&buf->item, &rq->empty);
}

static int rds_ib_rq_alloc(struct rds_ib_device *dev)
{
	struct rds_ib_rq *rq = &dev->rq;
	unsigned int i;

	rq->bufs = kvcalloc(rq->size, sizeof(*rq->bufs), GFP_KERNEL);
	if (!rq->bufs)
		return -ENOMEM;
	rq->headers = kcalloc(rq->size, RDS_IB_HEADER_STRIDE, GFP_KERNEL);
	if (!rq->headers)
		goto out_free_bufs;
	rq->headers_dma = ib_dma_map_single(dev->ibdev, rq->headers,
					    rq->size * RDS_IB_HEADER_STRIDE, DMA_FROM_DEVICE);
	if (ib_dma_mapping_error(dev->ibdev, rq->headers_dma))
		goto out_free_headers;
	for (i = 0; i < rq->size; i++)
		rds_ib_rbuf_init(dev, i);
	return 0;

out_free_headers:
	kfree(rq->headers);
out_free_bufs:
	kvfree(rq->bufs);
	return -ENOMEM;
}

static void rds_ib_rq_free(struct rds_ib_device *dev)
{
	struct rds_ib_rq *rq = &dev->rq;
	unsigned int i;

	for (i = 0; i < rq->size; i++)
		if (rq->bufs[i].page)
			__free_page(rds_ib_rbuf_take_page(&rq->bufs[i]));
	ib_dma_unmap_single(dev->ibdev, rq->headers_dma, rq->size * RDS_IB_HEADER_STRIDE,
			    DMA_FROM_DEVICE);
	kfree(rq->headers);
	kvfree(rq->bufs);
}

/* The worker may be under way, and an event may start it until there is no queue. */
static void rds_ib_rq_destroy_srq(struct rds_ib_rq *rq)
{
	WRITE_ONCE(rq->stopped, true);
	cancel_delayed_work_sync(&rq->refill);
	ib_destroy_srq(rq->srq);
	cancel_delayed_work_sync(&rq->refill);
}

int rds_ib_rq_init(struct rds_ib_device *dev)
{
	struct rds_ib_rq *rq = &dev->rq;
	struct ib_srq_init_attr init = {
		.event_handler	= rds_ib_rq_event,
		.srq_context	= dev,
		.srq_type	= IB_SRQT_BASIC,
	};
	int err;

	INIT_DELAYED_WORK(&rq->refill, rds_ib_rq_work);
	spin_lock_init(&rq->lock);
	INIT_LIST_HEAD(&rq->ready);
	INIT_LIST_HEAD(&rq->empty);
	err = rds_ib_rq_alloc(dev);
	if (err)
		return err;
	init.attr.max_wr = rq->size;
	init.attr.max_sge = 2;
	rq->srq = ib_create_srq(dev->pd, &init);
	if (IS_ERR(rq->srq)) {
		err = PTR_ERR(rq->srq);
		goto out_free;
	}
	if (!rds_ib_rq_fill(rq)) {
		err = -ENOMEM;
		goto out_destroy_srq;
	}
	err = rds_ib_rq_arm(rq);
	if (err)
		goto out_destroy_srq;
	return 0;

out_destroy_srq:
	rds_ib_rq_destroy_srq(rq);
out_free:
	rds_ib_rq_free(dev);
	return err;
}

void rds_ib_rq_exit(struct rds_ib_device *dev)
{
	rds_ib_rq_destroy_srq(&dev->rq);
	rds_ib_rq_free(dev);
}
