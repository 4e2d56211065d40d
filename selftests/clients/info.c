// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * info A B: reads every list of the kernel for IPv4 as a tool would that shows them, while a socket at A has sent messages
 * to one at B that nobody has read, and looks for these in them.
 */
#include "client.h"

#define MESSAGES	3
#define MESSAGE_BYTES	100

struct list {
	char	*data;
	int	stride;		/* as the kernel says; records may be longer or shorter than ours */
	int	nr;
};

static const char *address;	/* of B, as it was given */
static int fd_a, fd_b;
static union rds_addr addr_a, addr_b;
static bool rdma;	/* else loopback */

/* 0, or -errno */
static int read_list(int opt, struct list *list)
{
	socklen_t len = 0;

	memset(list, 0, sizeof(*list));
	while ((list->stride = getsockopt(fd_a, SOL_RDS, opt, list->data, &len)) < 0) {
		if (errno != ENOSPC)
			return -errno;
		list->data = realloc(list->data, len);
		if (!list->data)
			give_up("no memory for %u bytes", len);
	}
	list->nr = list->stride ? len / list->stride : 0;
	return 0;
}

static void copy_record(const struct list *list, int i, void *record, size_t size)
{
	memset(record, 0, size);
	memcpy(record, list->data + (size_t)i * list->stride,
	       (size_t)list->stride < size ? (size_t)list->stride : size);
}

/* How many records of the list are those that the caller looks for. */
static int matches(const struct list *list, bool (*match)(const struct list *list, int i))
{
	int i, nr = 0;

	for (i = 0; i < list->nr; i++)
		nr += match(list, i);
	return nr;
}

static bool is_counter(const struct list *list, int i)
{
	struct rds_info_counter counter;

	copy_record(list, i, &counter, sizeof(counter));
	return !strcmp((char *)counter.name, "recv_queued") && counter.value >= MESSAGES;
}

static bool from_a_to_b(__be32 laddr, __be32 faddr)
{
	return laddr == addr_a.in.sin_addr.s_addr && faddr == addr_b.in.sin_addr.s_addr;
}

/* The last byte of a transport's name is taken for flags and must be 0. */
static bool is_connection(const struct list *list, int i)
{
	char name[TRANSNAMSIZ] = {};
	struct rds_info_connection conn;

	copy_record(list, i, &conn, sizeof(conn));
	strcpy(name, rdma ? "infiniband" : "loopback");
	return from_a_to_b(conn.laddr, conn.faddr) && (conn.flags & RDS_INFO_CONNECTION_FLAG_CONNECTED) &&
	       !memcmp(conn.transport, name, sizeof(name));
}

/* Of one that is sent, local is A. */
static bool is_message_out(const struct list *list, int i)
{
	struct rds_info_message msg;

	copy_record(list, i, &msg, sizeof(msg));
	return msg.lport == addr_a.in.sin_port && msg.fport == addr_b.in.sin_port && from_a_to_b(msg.laddr, msg.faddr);
}

/* Of one that was received, local is B. */
static bool is_message_in(const struct list *list, int i)
{
	struct rds_info_message msg;

	copy_record(list, i, &msg, sizeof(msg));
	return msg.len == MESSAGE_BYTES && msg.lport == addr_b.in.sin_port && msg.fport == addr_a.in.sin_port &&
	       from_a_to_b(msg.faddr, msg.laddr);
}

static bool is_socket(const struct list *list, int i)
{
	struct rds_info_socket sock;
	struct stat st;

	copy_record(list, i, &sock, sizeof(sock));
	return !fstat(fd_a, &st) && sock.inum == st.st_ino && sock.bound_port == addr_a.in.sin_port &&
	       sock.connected_port == addr_b.in.sin_port && from_a_to_b(sock.bound_addr, sock.connected_addr);
}

static bool is_rdma_connection(const struct list *list, int i)
{
	static const __u8 no_gid[RDS_IB_GID_LEN];
	struct rds_info_rdma_connection conn;

	copy_record(list, i, &conn, sizeof(conn));
	return from_a_to_b(conn.src_addr, conn.dst_addr) && conn.max_send_wr &&
	       memcmp(conn.src_gid, no_gid, sizeof(no_gid)) && memcmp(conn.dst_gid, no_gid, sizeof(no_gid));
}

/* The list is there, and has @want records that match. */
static void list_has(int opt, const char *name, bool (*match)(const struct list *list, int i), int want)
{
	struct list list;
	int err = read_list(opt, &list), nr = match && !err ? matches(&list, match) : 0;

	ksft_test_result(!err && nr == want, "abi18_info_%d_%s_%s\n", opt, name, address);
	if (err || nr != want)
		ksft_print_msg("%s, %d of %d records match, not %d\n", strerror(-err), nr, list.nr, want);
	free(list.data);
}

/* Where it is not, the tool says so and goes on. */
static void list_is_absent(int opt, const char *name)
{
	struct list list;
	int err = read_list(opt, &list);

	ksft_test_result(err == -ENOPROTOOPT, "abi18_info_%d_%s_is_not_there_%s\n", opt, name, address);
	free(list.data);
}

static void make_something_to_see(const char *a, const char *b)
{
	static const char text[MESSAGE_BYTES];
	int64_t end = now_ms() + RDS_WAIT_MS;
	struct list list;
	int i;

	addr_a = address_argument(a, 0);
	addr_b = address_argument(b, 0);
	fd_a = bound_socket(&addr_a);
	fd_b = bound_socket(&addr_b);
	if (rds_connect(fd_a, &addr_b))
		give_up("connect: %s", strerror(errno));
	for (i = 0; i < MESSAGES; i++)
		if (rds_send(fd_a, NULL, text, sizeof(text), 0) != sizeof(text))
			give_up("send: %s", strerror(errno));
	do {
		nap();
		if (read_list(RDS_INFO_RECV_MESSAGES, &list))
			give_up("list of received messages: %s", strerror(errno));
		i = matches(&list, is_message_in);
		free(list.data);
	} while (i < MESSAGES && now_ms() < end);
}

int main(int argc, char **argv)
{
	if (argc != 3)
		give_up("usage: info A B");
	ksft_print_header();
	ksft_set_plan(8);
	make_something_to_see(argv[1], argv[2]);
	address = argv[2];
	rdma = strcmp(argv[1], argv[2]);
	list_has(RDS_INFO_COUNTERS, "counters", is_counter, 1);
	list_has(RDS_INFO_CONNECTIONS, "connections", is_connection, 1);
	list_has(RDS_INFO_SEND_MESSAGES, "send_messages", is_message_out, 0);
	list_has(RDS_INFO_RETRANS_MESSAGES, "retrans_messages", NULL, 0);
	list_has(RDS_INFO_RECV_MESSAGES, "recv_messages", is_message_in, MESSAGES);
	list_has(RDS_INFO_SOCKETS, "sockets", is_socket, 1);
	list_is_absent(RDS_INFO_TCP_SOCKETS, "tcp_sockets");
	list_has(RDS_INFO_IB_CONNECTIONS, "ib_connections", is_rdma_connection, rdma);
	close(fd_b);
	ksft_finished();
}
