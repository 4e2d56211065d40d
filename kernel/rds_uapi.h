/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The user ABI by our own header, never the kernel tree's, with its layout asserted. */
#ifndef RDS_UAPI_H
#define RDS_UAPI_H

#include "../uapi/linux/rds.h"
#include "../uapi/linux/rds_ext.h"

#define RDS_ABI_SIZE(type, size) \
	_Static_assert(sizeof(type) == (size), #type " has changed its size")
#define RDS_ABI_OFFSET(type, member, offset) \
	_Static_assert(__builtin_offsetof(type, member) == (offset), #type "." #member " has moved")

RDS_ABI_SIZE(struct rds_iovec, 16);
RDS_ABI_OFFSET(struct rds_iovec, bytes, 8);
RDS_ABI_SIZE(struct rds_get_mr_args, 32);
RDS_ABI_OFFSET(struct rds_get_mr_args, cookie_addr, 16);
RDS_ABI_OFFSET(struct rds_get_mr_args, flags, 24);
RDS_ABI_SIZE(struct rds_get_mr_for_dest_args, 160);
RDS_ABI_OFFSET(struct rds_get_mr_for_dest_args, vec, 128);
RDS_ABI_OFFSET(struct rds_get_mr_for_dest_args, cookie_addr, 144);
RDS_ABI_OFFSET(struct rds_get_mr_for_dest_args, flags, 152);
RDS_ABI_SIZE(struct rds_free_mr_args, 16);
RDS_ABI_OFFSET(struct rds_free_mr_args, flags, 8);
RDS_ABI_SIZE(struct rds_rdma_args, 56);
RDS_ABI_OFFSET(struct rds_rdma_args, remote_vec, 8);
RDS_ABI_OFFSET(struct rds_rdma_args, local_vec_addr, 24);
RDS_ABI_OFFSET(struct rds_rdma_args, nr_local, 32);
RDS_ABI_OFFSET(struct rds_rdma_args, flags, 40);
RDS_ABI_OFFSET(struct rds_rdma_args, user_token, 48);
RDS_ABI_SIZE(struct rds_atomic_args, 72);
RDS_ABI_OFFSET(struct rds_atomic_args, local_addr, 8);
RDS_ABI_OFFSET(struct rds_atomic_args, remote_addr, 16);
RDS_ABI_OFFSET(struct rds_atomic_args, cswp.compare, 24);
RDS_ABI_OFFSET(struct rds_atomic_args, cswp.swap, 32);
RDS_ABI_OFFSET(struct rds_atomic_args, fadd.add, 24);
RDS_ABI_OFFSET(struct rds_atomic_args, m_cswp.swap_mask, 48);
RDS_ABI_OFFSET(struct rds_atomic_args, m_fadd.nocarry_mask, 32);
RDS_ABI_OFFSET(struct rds_atomic_args, flags, 56);
RDS_ABI_OFFSET(struct rds_atomic_args, user_token, 64);
RDS_ABI_SIZE(struct rds_rdma_notify, 16);
RDS_ABI_OFFSET(struct rds_rdma_notify, status, 8);
RDS_ABI_SIZE(struct rds_asend_args, 16);
RDS_ABI_OFFSET(struct rds_asend_args, flags, 8);
RDS_ABI_SIZE(struct rds6_info_connection_tos, 66);
RDS_ABI_OFFSET(struct rds6_info_connection_tos, flags, offsetof(struct rds6_info_connection, flags));
RDS_ABI_SIZE(struct rds_reset, 12);
RDS_ABI_OFFSET(struct rds_reset, src, 4);
RDS_ABI_SIZE(struct rds6_reset, 36);
RDS_ABI_OFFSET(struct rds6_reset, src, 4);
RDS_ABI_SIZE(struct rds_info_drop, 48);
RDS_ABI_OFFSET(struct rds_info_drop, reason, 16);
RDS_ABI_SIZE(struct rds_info_path, 296);
RDS_ABI_OFFSET(struct rds_info_path, scope, 48);
RDS_ABI_OFFSET(struct rds_info_path, requests, 56);
RDS_ABI_OFFSET(struct rds_info_path, drops, 104);
RDS_ABI_SIZE(struct rds_zcopy_cookies, 36);
RDS_ABI_SIZE(struct rds_rx_trace_so, 4);
RDS_ABI_SIZE(struct rds_cmsg_rx_trace, 32);
RDS_ABI_OFFSET(struct rds_cmsg_rx_trace, rx_trace, 8);
RDS_ABI_SIZE(struct rds_info_counter, 40);
RDS_ABI_OFFSET(struct rds_info_counter, value, 32);
RDS_ABI_SIZE(struct rds_info_connection, 42);
RDS_ABI_OFFSET(struct rds_info_connection, transport, 24);
RDS_ABI_SIZE(struct rds6_info_connection, 65);
RDS_ABI_OFFSET(struct rds6_info_connection, transport, 48);
RDS_ABI_SIZE(struct rds_info_message, 26);
RDS_ABI_OFFSET(struct rds_info_message, lport, 20);
RDS_ABI_SIZE(struct rds6_info_message, 50);
RDS_ABI_OFFSET(struct rds6_info_message, lport, 44);
RDS_ABI_SIZE(struct rds_info_socket, 28);
RDS_ABI_OFFSET(struct rds_info_socket, inum, 20);
RDS_ABI_SIZE(struct rds6_info_socket, 52);
RDS_ABI_OFFSET(struct rds6_info_socket, inum, 44);
RDS_ABI_SIZE(struct rds_info_tcp_socket, 41);
RDS_ABI_OFFSET(struct rds_info_tcp_socket, hdr_rem, 12);
RDS_ABI_SIZE(struct rds6_info_tcp_socket, 64);
RDS_ABI_OFFSET(struct rds6_info_tcp_socket, hdr_rem, 36);
RDS_ABI_SIZE(struct rds_info_rdma_connection, 68);
RDS_ABI_OFFSET(struct rds_info_rdma_connection, max_send_wr, 40);
RDS_ABI_OFFSET(struct rds_info_rdma_connection, cache_allocs, 64);
RDS_ABI_SIZE(struct rds6_info_rdma_connection, 92);
RDS_ABI_OFFSET(struct rds6_info_rdma_connection, max_send_wr, 64);
RDS_ABI_OFFSET(struct rds6_info_rdma_connection, cache_allocs, 88);

#endif
