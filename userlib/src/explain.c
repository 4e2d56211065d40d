// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* What an errno of a given call means to its user, and what to do about it. */
#include "internal.h"

#include <string.h>

struct explanation {
	int		error;
	const char	*text;
};

static const struct explanation addr_texts[] = {
	{ EINVAL, "this is not an address: write ADDR, ADDR:PORT or [IPV6]:PORT, with a port from 0 to 65535" },
	{ ENOENT, "the host name is not known, or the interface after % does not exist: check the spelling, or write the address in numbers" },
	{ EAGAIN, "the name server does not answer: try again later, or write the address in numbers" },
};

static const struct explanation open_texts[] = {
	{ EAFNOSUPPORT, "the kernel does not know RDS sockets: the rds_sockets module is not loaded; as root run 'modprobe rds_sockets', or 'insmod kernel/rds_sockets.ko' in the source tree" },
	{ EADDRNOTAVAIL, "no RDS transport owns this address: give an address of an RDMA interface of this host ('rdma link' lists them), or 127.0.0.1; an interface that soft-RoCE shall serve needs 'rdma link add rxe0 type rxe netdev INTERFACE' first" },
	{ EADDRINUSE, "another RDS socket has this address and port: choose another port, or leave it out to get a free one" },
	{ EINVAL, "this cannot be bound: write ADDR, ADDR:PORT or [IPV6]:PORT with one address of this host (not 0.0.0.0, ::, broadcast or multicast; a link-local one with %INTERFACE); port 1 is reserved, and a socket is bound only once" },
	{ EMFILE, "the process has too many open files: raise the limit (ulimit -n) or close some" },
	{ ENFILE, "the system has too many open files" },
	{ ENOPROTOOPT, "the transport that was asked for with SO_RDS_TRANSPORT does not serve this address" },
	{ ENOMEM, "the kernel is out of memory, or too many RDS sockets are bound" },
};

static const struct explanation connect_texts[] = {
	{ EINVAL, "this cannot be a peer: write ADDR:PORT or [IPV6]:PORT with one host's address (not broadcast or multicast; a link-local one with %INTERFACE, the same interface as the socket's own)" },
	{ EDESTADDRREQ, "0.0.0.0 is no peer: give the address of one host" },
	{ EPROTOTYPE, "this IPv6 address is no peer: give the address of one host" },
	{ EAFNOSUPPORT, "only IPv4 and IPv6 addresses can be peers" },
};

static const struct explanation send_texts[] = {
	{ ENOTCONN, "the socket is not bound, or the message has no destination: bind it first, and give an address or connect" },
	{ EMSGSIZE, "the message is too long: at most 1 MiB, and at most the send buffer (SO_SNDBUF, limited by the sysctl net.core.wmem_max)" },
	{ EAGAIN, "the send buffer is full of messages that the peer has not acknowledged: wait until the socket is writable; if that never comes, the peer cannot be reached" },
	{ ENOBUFS, "the peer's socket does not read what it has received: wait and try again" },
	{ ETIMEDOUT, "the peer did not acknowledge earlier messages within the time-out: it cannot be reached, or does not answer" },
	{ EOPNOTSUPP, "the destination and the socket's own address must both be IPv4 or both IPv6, and the flags ones that RDS knows" },
	{ EINVAL, "the destination or a control message is not valid: one host's address, and either a cookie of this socket or an RDMA operation, not both" },
	{ EFAULT, "part of the message or of its buffers is not mapped memory" },
	{ EPERM, "the limit on locked memory is 0: raise it (ulimit -l) or give the process CAP_IPC_LOCK" },
	{ ENOMEM, "out of memory, or the limit on locked memory is reached: raise it (ulimit -l) or register less at a time" },
	{ ENETDOWN, "the transport is being taken down" },
	{ EINTR, "a signal came before the message was accepted: send it again" },
};

static const struct explanation rdma_texts[] = {
	{ EINVAL, "the RDMA operation is not valid: 1 to 1024 local pieces, none empty, together not longer than the remote range" },
	{ EMSGSIZE, "the RDMA operation is too large: at most 1024 local pieces and 1 MiB for each message, or what the sysctl net.rds.max_rdma_bytes says; split it" },
	{ EFAULT, "the local memory is not mapped, or is read-only where the operation would write" },
	{ EOPNOTSUPP, "this transport or kernel module cannot do RDMA here; Debian's own rds module does none on 127.0.0.1, rds_sockets does" },
};

static const struct explanation get_mr_texts[] = {
	{ ENOTCONN, "the socket is not bound: the address decides which device gets the key" },
	{ EPERM, "the limit on locked memory is 0: raise it (ulimit -l) or give the process CAP_IPC_LOCK" },
	{ ENOMEM, "the limit on locked memory is reached: raise it (ulimit -l, or LimitMEMLOCK= of the service), free other regions, or give the process CAP_IPC_LOCK" },
	{ EMSGSIZE, "the buffer is longer than the device registers at once: register it in pieces (1 MiB always does)" },
	{ EINVAL, "the range is empty or wraps around, or a flag is unknown" },
	{ EFAULT, "the range is not mapped, or is read-only where peers may write: register without RDS_RDMA_READWRITE if peers only read" },
	{ EOPNOTSUPP, "this memory or transport cannot be registered; Debian's own rds module registers nothing this way, rds_sockets does" },
	{ EAGAIN, "the device is not ready: try again" },
	{ ENODEV, "no RDMA device serves the address of this socket" },
	{ EBUSY, "the device has no free memory region: free others first" },
};

static const struct explanation free_mr_texts[] = {
	{ EINVAL, "this socket has no region with this cookie: it was freed, was used once, or belongs to another socket" },
};

static const struct explanation recv_texts[] = {
	{ EAGAIN, "nothing has arrived" },
	{ ETIMEDOUT, "nothing has arrived within the time-out: the peer may be down, or has nothing to say" },
	{ EFAULT, "the buffer is not mapped writable memory" },
	{ EINTR, "a signal came before anything arrived" },
	{ EINVAL, "the kernel sent a control message that this library does not understand: is it older than the kernel module?" },
};

static const struct explanation info_texts[] = {
	{ EAGAIN, "the table grows faster than it can be read, or its buffer could not be pinned: try again" },
	{ ENOPROTOOPT, "the loaded kernel module does not offer this information" },
	{ ENOENT, "the loaded kernel module has no counter of this name" },
	{ EPROTO, "the kernel's answer has an unknown layout: is this library older than the kernel module?" },
};

static const struct explanation common_texts[] = {
	{ EBADF, "this is not an open socket" },
	{ ENOTSOCK, "this is not a socket" },
	{ ENOMEM, "out of memory" },
	{ ENOPROTOOPT, "this is not an RDS socket, or the kernel module does not know the option" },
};

struct table {
	const struct explanation	*texts;
	size_t				count;
};

#define TABLE(texts)	{ texts, rds_array_size(texts) }

/* Where to look, in order; an empty entry ends the list. */
static const struct table tables[][4] = {
	[RDS_CALL_ADDR] = { TABLE(addr_texts) },
	[RDS_CALL_OPEN] = { TABLE(open_texts), TABLE(addr_texts) },
	[RDS_CALL_CONNECT] = { TABLE(connect_texts), TABLE(addr_texts) },
	[RDS_CALL_SEND] = { TABLE(send_texts) },
	[RDS_CALL_RDMA] = { TABLE(rdma_texts), TABLE(send_texts) },
	[RDS_CALL_GET_MR] = { TABLE(get_mr_texts) },
	[RDS_CALL_FREE_MR] = { TABLE(free_mr_texts) },
	[RDS_CALL_RECV] = { TABLE(recv_texts) },
	[RDS_CALL_INFO] = { TABLE(info_texts) },
};

static const char *find(const struct table *table, int error)
{
	size_t i;

	for (i = 0; i < table->count; i++)
		if (table->texts[i].error == error)
			return table->texts[i].text;
	return NULL;
}

const char *rds_explain(enum rds_call call, int error)
{
	static const struct table common = TABLE(common_texts);
	const struct table *table;
	const char *text = NULL;

	error = error < 0 ? -error : error;
	if ((size_t)call < rds_array_size(tables))
		for (table = tables[call]; table->texts && !text; table++)
			text = find(table, error);
	if (!text)
		text = find(&common, error);
	if (!text)
		text = strerrordesc_np(error);
	return text ? text : "unknown error";
}
