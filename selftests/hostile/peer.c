// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "peer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define RESOLVE_MS	5000
#define SENDS_LEN	(PEER_SENDS * PEER_SLOT)
#define RECEIVES_LEN	(PEER_RECEIVES * PEER_SLOT)
#define MEMORY_LEN	(SENDS_LEN + RECEIVES_LEN + PEER_AREA)

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000LL + ts.tv_nsec / 1000000;
}

static int readable(int fd, int64_t end)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	int64_t left = end - now_ms();

	return poll(&pfd, 1, left > 0 ? left : 0) == 1 ? 0 : -ETIMEDOUT;
}

static int parse(struct sockaddr_storage *ss, const char *text, bool with_port)
{
	struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)ss;
	struct sockaddr_in *sin = (struct sockaddr_in *)ss;

	memset(ss, 0, sizeof(*ss));
	if (inet_pton(AF_INET, text, &sin->sin_addr) == 1) {
		sin->sin_family = AF_INET;
		sin->sin_port = with_port ? htons(PEER_PORT4) : 0;
		return 0;
	}
	sin6->sin6_family = AF_INET6;
	sin6->sin6_port = with_port ? htons(PEER_PORT6) : 0;
	return inet_pton(AF_INET6, text, &sin6->sin6_addr) == 1 ? 0 : -EINVAL;
}

/* All but what the caller has set. */
static void clear(struct peer *p)
{
	bool no_receives = p->no_receives;
	uint8_t tos = p->tos, caps = p->caps;

	memset(p, 0, sizeof(*p));
	p->no_receives = no_receives;
	p->caps = caps;
	p->tos = tos;
}

/* --- resources ---------------------------------------------------------- */

static int post_receive(struct peer *p, unsigned int slot)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)p->memory + SENDS_LEN + slot * PEER_SLOT,
		.length = PEER_SLOT,
		.lkey = p->mr->lkey,
	};
	struct ibv_recv_wr *bad, wr = { .wr_id = slot, .sg_list = &sge, .num_sge = 1 };

	return -ibv_post_recv(p->qp, &wr, &bad);
}

static int post_receives(struct peer *p)
{
	unsigned int slot;
	int err = 0;

	for (slot = 0; slot < PEER_RECEIVES && !err && !p->no_receives; slot++)
		err = post_receive(p, slot);
	return err;
}

static int make_memory(struct peer *p)
{
	p->memory = mmap(NULL, MEMORY_LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p->memory == MAP_FAILED) {
		p->memory = NULL;
		return -ENOMEM;
	}
	p->area = p->memory + SENDS_LEN + RECEIVES_LEN;
	p->mr = ibv_reg_mr(p->pd, p->memory, MEMORY_LEN,
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE);
	return p->mr ? 0 : -errno;
}

static int make_queues(struct peer *p)
{
	struct ibv_context *device = p->id->verbs;

	p->pd = ibv_alloc_pd(device);
	p->sent = ibv_create_comp_channel(device);
	p->arrived = ibv_create_comp_channel(device);
	if (!p->pd || !p->sent || !p->arrived)
		return -errno;
	p->send_cq = ibv_create_cq(device, PEER_SENDS + 1, NULL, p->sent, 0);
	p->recv_cq = ibv_create_cq(device, PEER_RECEIVES + 1, NULL, p->arrived, 0);
	return p->send_cq && p->recv_cq ? 0 : -errno;
}

static int to_init(struct peer *p)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT };
	int mask;

	if (rdma_init_qp_attr(p->id, &attr, &mask))
		return -errno;
	attr.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;
	return -ibv_modify_qp(p->qp, &attr, mask);
}

static int make_qp(struct peer *p)
{
	struct ibv_qp_init_attr init = {
		.cap = { .max_send_wr = PEER_SENDS, .max_recv_wr = PEER_RECEIVES, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};
	int err;

	err = make_queues(p);
	if (!err)
		err = make_memory(p);
	if (err)
		return err;
	init.send_cq = p->send_cq;
	init.recv_cq = p->recv_cq;
	p->qp = ibv_create_qp(p->pd, &init);
	if (!p->qp)
		return -errno;
	err = to_init(p);
	return err ?: post_receives(p);
}

/* --- events ------------------------------------------------------------- */

static void note_event(struct peer *p, const struct rdma_cm_event *event)
{
	const struct rdma_conn_param *param = &event->param.conn;

	p->status = event->status;
	p->said_len = 0;
	memset(&p->asked, 0, sizeof(p->asked));
	if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST && event->event != RDMA_CM_EVENT_CONNECT_RESPONSE &&
	    event->event != RDMA_CM_EVENT_REJECTED)
		return;
	p->asked = *param;
	p->asked.private_data = NULL;
	if (!param->private_data)
		return;
	p->said_len = param->private_data_len;
	memcpy(p->said, param->private_data, p->said_len);
}

static int judge_event(enum rdma_cm_event_type got, enum rdma_cm_event_type want)
{
	if (got == want)
		return 0;
	if (got == RDMA_CM_EVENT_REJECTED)
		return -ECONNREFUSED;
	return got == RDMA_CM_EVENT_DISCONNECTED ? -ECONNRESET : -EPROTO;
}

int peer_wait(struct peer *p, enum rdma_cm_event_type want)
{
	struct rdma_cm_event *event;
	int err;

	err = readable(p->events->fd, now_ms() + PEER_WAIT_MS);
	if (err)
		return err;
	if (rdma_get_cm_event(p->events, &event))
		return -errno;
	note_event(p, event);
	err = judge_event(event->event, want);
	rdma_ack_cm_event(event);
	return err;
}

/* --- connecting --------------------------------------------------------- */

static int resolve(struct peer *p)
{
	int err;

	if (rdma_resolve_addr(p->id, (struct sockaddr *)&p->from, (struct sockaddr *)&p->to, RESOLVE_MS))
		return -errno;
	err = peer_wait(p, RDMA_CM_EVENT_ADDR_RESOLVED);
	if (err)
		return err;
	if (rdma_resolve_route(p->id, RESOLVE_MS))
		return -errno;
	return peer_wait(p, RDMA_CM_EVENT_ROUTE_RESOLVED);
}

int peer_prepare(struct peer *p, const char *from, const char *to)
{
	int err;

	clear(p);
	err = parse(&p->from, from, false) ?: parse(&p->to, to, true);
	if (err)
		return err;
	p->events = rdma_create_event_channel();
	if (!p->events || rdma_create_id(p->events, &p->id, NULL, RDMA_PS_TCP))
		return -errno;
	return resolve(p) ?: make_qp(p);
}

static struct rdma_conn_param conn_param(const struct peer *p, const void *priv, size_t len)
{
	return (struct rdma_conn_param){
		.private_data = priv,
		.private_data_len = len,
		.responder_resources = 4,
		.initiator_depth = 4,
		.retry_count = 6,
		.rnr_retry_count = 7,
		.qp_num = p->qp->qp_num,
	};
}

int peer_request(struct peer *p, const void *priv, size_t len)
{
	struct rdma_conn_param param = conn_param(p, priv, len);

	return rdma_connect(p->id, &param) ? -errno : 0;
}

static int to_state(struct peer *p, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };
	int mask;

	if (rdma_init_qp_attr(p->id, &attr, &mask))
		return -errno;
	attr.min_rnr_timer = 10;
	return -ibv_modify_qp(p->qp, &attr, mask);
}

int peer_ready(struct peer *p)
{
	return to_state(p, IBV_QPS_RTR) ?: to_state(p, IBV_QPS_RTS);
}

int peer_confirm(struct peer *p)
{
	return rdma_establish(p->id) ? -errno : 0;
}

size_t peer_priv(const struct peer *p, uint8_t *to)
{
	struct priv priv = { .from = peer_from(p), .to = peer_to(p), .major = 3, .minor = 1, .mask = 3,
			     .tos = p->tos, .caps = p->caps };

	return priv_pack(&priv, to);
}

int peer_connect(struct peer *p, const char *from, const char *to)
{
	uint8_t priv[PRIV_LEN6];
	int err;

	err = peer_prepare(p, from, to);
	if (!err)
		err = peer_request(p, priv, peer_priv(p, priv));
	if (!err)
		err = peer_wait(p, RDMA_CM_EVENT_CONNECT_RESPONSE);
	if (!err)
		err = peer_ready(p) ?: peer_confirm(p);
	return err;
}

int peer_hello(struct peer *p, const char *from, const char *to)
{
	struct frame f;
	int err, i;

	err = peer_connect(p, from, to);
	for (i = 0; i < MAP_LEN / FRAGMENT && !err; i++) {
		err = peer_take(p, &f);
		if (!err && (f.head.flags != FLAG_MAP || f.len != FRAGMENT))
			err = -EBADMSG;
	}
	if (!err)
		err = peer_push_map(p, 0);
	return err ?: peer_settle(p);
}

void peer_disconnect(struct peer *p)
{
	if (p->id && p->qp && !rdma_disconnect(p->id))
		peer_wait(p, RDMA_CM_EVENT_DISCONNECTED);
}

void peer_fall_silent(struct peer *p)
{
	if (p->qp)
		ibv_destroy_qp(p->qp);
	p->qp = NULL;
}

void peer_close(struct peer *p)
{
	peer_fall_silent(p);
	if (p->id)
		rdma_destroy_id(p->id);
	if (p->mr)
		ibv_dereg_mr(p->mr);
	if (p->send_cq)
		ibv_destroy_cq(p->send_cq);
	if (p->recv_cq)
		ibv_destroy_cq(p->recv_cq);
	if (p->sent)
		ibv_destroy_comp_channel(p->sent);
	if (p->arrived)
		ibv_destroy_comp_channel(p->arrived);
	if (p->pd)
		ibv_dealloc_pd(p->pd);
	if (p->events)
		rdma_destroy_event_channel(p->events);
	if (p->memory)
		munmap(p->memory, MEMORY_LEN);
	clear(p);
}

/* --- being connected to ------------------------------------------------- */

int peer_listen(struct peer_listener *l, const char *at)
{
	struct sockaddr_storage addr;
	int err;

	memset(l, 0, sizeof(*l));
	err = parse(&addr, at, true);
	if (err)
		return err;
	l->events = rdma_create_event_channel();
	if (!l->events || rdma_create_id(l->events, &l->id, NULL, RDMA_PS_TCP) ||
	    rdma_bind_addr(l->id, (struct sockaddr *)&addr) || rdma_listen(l->id, 16))
		return -errno;
	return 0;
}

void peer_unlisten(struct peer_listener *l)
{
	if (l->id)
		rdma_destroy_id(l->id);
	if (l->events)
		rdma_destroy_event_channel(l->events);
	memset(l, 0, sizeof(*l));
}

/* The id leaves the listener's channel for one of its own. */
static int adopt(struct peer *p, struct rdma_cm_id *id)
{
	p->id = id;
	p->events = rdma_create_event_channel();
	if (!p->events || rdma_migrate_id(id, p->events))
		return -errno;
	memcpy(&p->from, rdma_get_local_addr(id), sizeof(struct sockaddr_in6));
	memcpy(&p->to, rdma_get_peer_addr(id), sizeof(struct sockaddr_in6));
	return make_qp(p);
}

int peer_requested(struct peer_listener *l, struct peer *p)
{
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;
	int err;

	clear(p);
	err = readable(l->events->fd, now_ms() + PEER_WAIT_MS);
	if (err)
		return err;
	if (rdma_get_cm_event(l->events, &event))
		return -errno;
	note_event(p, event);
	err = judge_event(event->event, RDMA_CM_EVENT_CONNECT_REQUEST);
	id = event->id;
	rdma_ack_cm_event(event);
	return err ?: adopt(p, id);
}

int peer_accept(struct peer *p, const void *priv, size_t len)
{
	struct rdma_conn_param param = conn_param(p, priv, len);
	int err;

	err = peer_ready(p);
	if (err)
		return err;
	return rdma_accept(p->id, &param) ? -errno : 0;
}

int peer_reject(struct peer *p, const void *priv, size_t len)
{
	return rdma_reject(p->id, priv, len) ? -errno : 0;
}

/* --- completions -------------------------------------------------------- */

/* Wait for @channel, or the CM: what it has to say of a connection that is up is that it is no more. */
static int wait_for_completion(struct peer *p, struct ibv_comp_channel *channel, int64_t end)
{
	struct pollfd pfds[] = {
		{ .fd = channel->fd, .events = POLLIN },
		{ .fd = p->events->fd, .events = POLLIN },
	};
	int64_t left = end - now_ms();

	if (poll(pfds, 2, left > 0 ? left : 0) <= 0)
		return -ETIMEDOUT;
	return pfds[0].revents ? 0 : -ECONNRESET;
}

/* One completion of @cq, which wakes @channel; an event may tell of one that was polled already. */
static int next_completion(struct peer *p, struct ibv_cq *cq, struct ibv_comp_channel *channel, bool solicited_only,
			   int64_t end, struct ibv_wc *wc)
{
	struct ibv_cq *which;
	void *context;
	int n, err;

	for (;;) {
		n = ibv_poll_cq(cq, 1, wc);
		if (n)
			return n < 0 ? -EIO : 0;
		if (ibv_req_notify_cq(cq, solicited_only))
			return -EIO;
		n = ibv_poll_cq(cq, 1, wc);
		if (n)
			return n < 0 ? -EIO : 0;
		err = wait_for_completion(p, channel, end);
		if (err)
			return err;
		if (ibv_get_cq_event(channel, &which, &context))
			return -errno;
		ibv_ack_cq_events(which, 1);
	}
}

/* --- sending ------------------------------------------------------------ */

static int reap_send(struct peer *p)
{
	struct ibv_wc wc;
	int err;

	err = next_completion(p, p->send_cq, p->sent, false, now_ms() + PEER_WAIT_MS, &wc);
	if (err)
		return err;
	p->under_way--;
	if (wc.status && !p->send_status)
		p->send_status = wc.status;
	return 0;
}

static int post(struct peer *p, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;
	int err;

	if (!p->qp)
		return -ENOTCONN;
	while (p->under_way >= PEER_SENDS - 1) {
		err = reap_send(p);
		if (err)
			return err;
	}
	wr->send_flags |= IBV_SEND_SIGNALED;
	err = ibv_post_send(p->qp, wr, &bad);
	if (!err)
		p->under_way++;
	return -err;
}

int peer_push(struct peer *p, const void *bytes, size_t len, bool solicited)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)p->memory + p->next_slot * PEER_SLOT,
		.length = len,
		.lkey = p->mr->lkey,
	};
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = len ? 1 : 0,
		.opcode = IBV_WR_SEND,
		.send_flags = solicited ? IBV_SEND_SOLICITED : 0,
	};

	if (len > PEER_SLOT)
		return -EMSGSIZE;
	p->next_slot = (p->next_slot + 1) % PEER_SENDS;
	memcpy((void *)(uintptr_t)sge.addr, bytes, len);
	return post(p, &wr);
}

int peer_settle(struct peer *p)
{
	int err = 0, status;

	while (p->under_way && !err)
		err = reap_send(p);
	status = p->send_status;
	p->send_status = 0;
	return err ?: status;
}

int peer_send(struct peer *p, const void *bytes, size_t len)
{
	return peer_push(p, bytes, len, true) ?: peer_settle(p);
}

int peer_push_frame(struct peer *p, const struct head *head, const void *payload, size_t len)
{
	uint8_t bytes[PEER_SLOT];

	if (HEAD_LEN + len > sizeof(bytes))
		return -EMSGSIZE;
	head_pack(head, bytes);
	memcpy(bytes + HEAD_LEN, payload, len);
	return peer_push(p, bytes, HEAD_LEN + len, true);
}

int peer_send_frame(struct peer *p, const struct head *head, const void *payload, size_t len)
{
	return peer_push_frame(p, head, payload, len) ?: peer_settle(p);
}

int peer_push_message(struct peer *p, struct head head, unsigned int seed)
{
	uint8_t payload[FRAGMENT];
	size_t done = 0, n;
	int err;

	if (!head.seq)
		head.seq = ++p->seq;
	do {
		n = head.len - done < FRAGMENT ? head.len - done : FRAGMENT;
		pattern(payload, done, n, seed);
		err = peer_push_frame(p, &head, payload, n);
		done += n;
	} while (!err && done < head.len);
	return err;
}

int peer_push_map(struct peer *p, uint16_t port)
{
	struct head head = { .len = MAP_LEN, .flags = FLAG_MAP };
	uint8_t map[MAP_LEN] = { 0 };
	size_t done;
	int err = 0;

	if (port)
		map[port / 8] |= 1 << port % 8;
	for (done = 0; done < MAP_LEN && !err; done += FRAGMENT)
		err = peer_push_frame(p, &head, map + done, FRAGMENT);
	return err;
}

int peer_send_ack(struct peer *p, uint64_t ack)
{
	struct head head = { .ack = ack };

	return peer_send_frame(p, &head, NULL, 0);
}

int peer_rdma(struct peer *p, enum ibv_wr_opcode opcode, size_t offset, uint64_t raddr, uint32_t rkey, size_t len)
{
	struct ibv_sge sge = { .addr = (uintptr_t)p->area + offset, .length = len, .lkey = p->mr->lkey };
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = opcode,
		.wr.rdma = { .remote_addr = raddr, .rkey = rkey },
	};
	int err;

	err = peer_settle(p) ?: post(p, &wr);
	return err ?: peer_settle(p);
}

/* --- receiving ---------------------------------------------------------- */

static bool frame_is_ack(const struct frame *f)
{
	return !f->head.sport && !f->head.dport && !f->len;
}

static int unpack(struct peer *p, struct frame *f, const uint8_t *bytes, size_t len)
{
	if (len < HEAD_LEN || len > FRAME_MAX)
		return -EBADMSG;
	memcpy(f->raw, bytes, HEAD_LEN);
	head_unpack(&f->head, bytes);
	f->len = len - HEAD_LEN;
	memcpy(f->payload, bytes + HEAD_LEN, f->len);
	if (f->head.seq > p->got)
		p->got = f->head.seq;
	return 0;
}

int peer_take_within(struct peer *p, struct frame *f, int ms)
{
	struct ibv_wc wc;
	int err;

	/* woken for solicited frames only, as the peers of other systems are */
	err = next_completion(p, p->recv_cq, p->arrived, true, now_ms() + ms, &wc);
	if (err)
		return err;
	if (wc.status)
		return -EIO;
	err = unpack(p, f, p->memory + SENDS_LEN + wc.wr_id * PEER_SLOT, wc.byte_len);
	return post_receive(p, wc.wr_id) ?: err;
}

int peer_take_data(struct peer *p, struct frame *f)
{
	int err;

	do {
		err = peer_take(p, f);
	} while (!err && (f->head.flags == FLAG_MAP || frame_is_ack(f)));
	return err;
}
