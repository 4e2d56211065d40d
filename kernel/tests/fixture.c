// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "fixture.h"

#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include "../deliver.h"
#include "../inc.h"
#include "../main.h"
#include "../mr.h"
#include "../net.h"
#include "../notify.h"
#include "../payload.h"

struct fixture_user fixture_user;

/* More than any test sends in one message. */
static u8 fixture_bytes[4 * RDS_FRAG_LEN];

/* The last one is mapped with a page more than is kept: nothing comes to lie behind it. */
static int fixture_map(void)
{
	struct fixture_user *u = &fixture_user;

	u->ro = vm_mmap(NULL, 0, PAGE_SIZE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, 0);
	if (IS_ERR_VALUE(u->ro))
		return (int)u->ro;
	u->rw = vm_mmap(NULL, 0, (FIXTURE_PAGES + 1) * PAGE_SIZE, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, 0);
	if (!IS_ERR_VALUE(u->rw))
		return vm_munmap(u->rw + FIXTURE_PAGES * PAGE_SIZE, PAGE_SIZE);
	vm_munmap(u->ro, PAGE_SIZE);
	return (int)u->rw;
}

int fixture_suite_init(struct kunit_suite *suite)
{
	int err;

	if (!current->mm)
		return -EINVAL;
	err = fixture_map();
	if (err)
		return err;
	fixture_user.mm = current->mm;
	mmget(fixture_user.mm);
	return 0;
}

void fixture_suite_exit(struct kunit_suite *suite)
{
	if (!fixture_user.mm)
		return;
	vm_munmap(fixture_user.rw, FIXTURE_PAGES * PAGE_SIZE);
	vm_munmap(fixture_user.ro, PAGE_SIZE);
	mmput(fixture_user.mm);
	fixture_user.mm = NULL;
}

int fixture_init(struct kunit *test)
{
	struct fixture *f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);
	int err;

	if (!f)
		return -ENOMEM;
	err = fake_reset();
	if (err)
		return err;
	err = rds_start();
	if (err) {
		fake_remove_device();
		return err;
	}
	f->rn = rds_net(&init_net);
	f->pinned = atomic64_read(&fixture_user.mm->pinned_vm);
	f->running = true;
	test->priv = f;
	return 0;
}

void fixture_stop(struct kunit *test)
{
	struct fixture *f = fixture(test);

	if (!f->running)
		return;
	f->running = false;
	while (f->nr_conns)
		rds_conn_put(f->conns[--f->nr_conns]);
	while (f->nr_socks)
		sock_release(f->socks[--f->nr_socks]);
	rds_stop();
	fake_remove_device();
}

/* What must hold after every test, whatever it did. */
void fixture_exit(struct kunit *test)
{
	if (!fixture(test))
		return;
	fixture_stop(test);
	KUNIT_EXPECT_EQ(test, fake.closed + fake.rejected, fake.made);	/* each endpoint once */
	KUNIT_EXPECT_EQ(test, fake.released, fake.made);
	KUNIT_EXPECT_EQ(test, fake.registered, fake.unregistered);
	KUNIT_EXPECT_EQ(test, fake.domains, 0);
	KUNIT_EXPECT_EQ(test, fake.listening, 0);
	KUNIT_EXPECT_FALSE(test, fake.overlap);
	KUNIT_EXPECT_EQ(test, fixture_pinned(test), 0);
}

s64 fixture_pinned(struct kunit *test)
{
	return atomic64_read(&fixture_user.mm->pinned_vm) - fixture(test)->pinned;
}

static struct sockaddr_in fixture_sin(u8 n, u16 port)
{
	struct in6_addr addr = fake_addr(n);
	struct sockaddr_in sin = {
		.sin_family	= AF_INET,
		.sin_port	= htons(port),
		.sin_addr	= { addr.s6_addr32[3] },
	};

	return sin;
}

struct rds_sock *fixture_socket(struct kunit *test, u8 n, u16 port)
{
	struct sockaddr_in sin = fixture_sin(n, port);
	struct fixture *f = fixture(test);
	struct socket *sock;

	KUNIT_ASSERT_LT(test, f->nr_socks, FIXTURE_MAX);
	KUNIT_ASSERT_EQ(test, sock_create_kern(&init_net, AF_RDS, SOCK_SEQPACKET, 0, &sock), 0);
	f->socks[f->nr_socks++] = sock;
	if (port)
		KUNIT_ASSERT_EQ(test, kernel_bind(sock, (struct sockaddr *)&sin, sizeof(sin)), 0);
	return rds_sk(sock->sk);
}

struct rds_conn *fixture_conn(struct kunit *test, u8 from, u8 to)
{
	struct rds_conn_key key = {
		.laddr	= fake_addr(from),
		.faddr	= fake_addr(to),
		.trans	= &fake_transport,
	};
	struct fixture *f = fixture(test);
	struct rds_conn *conn;

	KUNIT_ASSERT_LT(test, f->nr_conns, FIXTURE_MAX);
	conn = rds_conn_get_or_create(f->rn, &key, RDS_CONN_BY_SENDER);
	KUNIT_ASSERT_FALSE(test, IS_ERR(conn));
	f->conns[f->nr_conns++] = conn;
	return conn;
}

int fixture_send_control(struct rds_sock *rs, u8 n, u16 port, u32 len, void *control, size_t control_len)
{
	struct sockaddr_in sin = fixture_sin(n, port);
	struct kvec vec = { fixture_bytes, len };
	struct msghdr msg = {
		.msg_name	= &sin,
		.msg_namelen	= sizeof(sin),
		.msg_control	= control,
		.msg_controllen	= control_len,
		.msg_flags	= MSG_DONTWAIT,
	};
	int ret;

	kthread_use_mm(fixture_user.mm);
	ret = kernel_sendmsg(rs->sk.sk_socket, &msg, &vec, 1, len);
	kthread_unuse_mm(fixture_user.mm);
	return ret;
}

void fixture_send_many(struct kunit *test, struct rds_sock *rs, unsigned int count, u32 len)
{
	while (count--)
		KUNIT_ASSERT_EQ(test, fixture_send(rs, 2, PORT_B, len), len);
}

int fixture_get_mr(struct rds_sock *rs, u64 addr, u64 bytes, u64 flags, u64 *cookie)
{
	struct rds_get_mr_args args = {
		.vec	= { addr, bytes },
		.flags	= flags,
	};
	int err;

	kthread_use_mm(fixture_user.mm);
	err = rds_mr_create(rs, &args, cookie);
	kthread_unuse_mm(fixture_user.mm);
	return err;
}

size_t fixture_put_control(void *control, int type, const void *data, size_t len)
{
	struct cmsghdr *head = control;

	head->cmsg_level = SOL_RDS;
	head->cmsg_type = type;
	head->cmsg_len = CMSG_LEN(len);
	memcpy(CMSG_DATA(head), data, len);
	return CMSG_SPACE(len);
}

void fixture_write_user(struct kunit *test, const void *data, size_t len)
{
	unsigned long left;

	kthread_use_mm(fixture_user.mm);
	left = copy_to_user((void __user *)fixture_user.rw, data, len);
	kthread_unuse_mm(fixture_user.mm);
	KUNIT_ASSERT_EQ(test, left, 0);
}

int fixture_send_rdma(struct kunit *test, struct rds_sock *rs, u32 len, u64 bytes, u64 flags, u64 token)
{
	u8 control[CMSG_SPACE(sizeof(struct rds_rdma_args))] __aligned(sizeof(long)) = { 0 };
	struct rds_iovec iov = { fixture_user.rw + PAGE_SIZE, bytes };
	struct rds_rdma_args args = {
		.remote_vec	= { 0, bytes },
		.local_vec_addr	= fixture_user.rw,
		.nr_local	= 1,
		.flags		= flags | RDS_RDMA_NOTIFY_ME,
		.user_token	= token,
	};

	fixture_write_user(test, &iov, sizeof(iov));
	fixture_put_control(control, RDS_CMSG_RDMA_ARGS, &args, sizeof(args));
	return fixture_send_control(rs, 2, PORT_B, len, control, sizeof(control));
}

int fixture_take_status(struct rds_sock *rs, u64 *token)
{
	struct rds_notify *n;
	int status = -ENOENT;

	spin_lock_bh(&rs->rcv_lock);
	n = list_first_entry_or_null(&rs->notifies, struct rds_notify, item);
	if (n) {
		list_del(&n->item);
		status = n->status;
		*token = n->token;
	}
	spin_unlock_bh(&rs->rcv_lock);
	kfree(n);
	return status;
}

void fixture_receive(struct kunit *test, struct rds_conn *conn, u64 seq, u8 flags, u16 sport, u16 dport,
		     u32 len)
{
	struct rds_header hdr;
	struct rds_inc *inc;

	rds_header_init(&hdr, seq, len, htons(sport), htons(dport));
	hdr.flags = flags;
	inc = rds_inc_alloc(&hdr, &conn->key.faddr, &conn->key.laddr, 0, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, inc);
	spin_lock_bh(&conn->path.rx_lock);
	rds_path_receive(&conn->path, &hdr, inc);
	spin_unlock_bh(&conn->path.rx_lock);
}

static void fixture_work(struct work_struct *work)
{
	struct fixture_thread *thread = container_of(work, struct fixture_thread, work);

	thread->func(thread->data);
	complete(&thread->done);
}

void fixture_start(struct fixture_thread *thread, void (*func)(void *data), void *data)
{
	INIT_WORK(&thread->work, fixture_work);
	init_completion(&thread->done);
	thread->func = func;
	thread->data = data;
	queue_work(system_unbound_wq, &thread->work);
}

/* The thread's memory is the test's: not to be left while it runs, however long that takes. */
void fixture_join(struct fixture_thread *thread)
{
	wait_for_completion(&thread->done);
	flush_work(&thread->work);
}
