/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* RDS on the wire, byte by byte and from the specification alone: nothing here is shared with the module. */
#ifndef HOSTILE_FRAME_H
#define HOSTILE_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <netinet/in.h>

#define HEAD_LEN	48
#define EXT_LEN		16
#define FRAGMENT	4096
#define FRAME_MAX	(HEAD_LEN + FRAGMENT)
#define MESSAGE_MAX	(1u << 20)
#define MAP_LEN		8192

#define FLAG_MAP	0x01
#define FLAG_WANT_ACK	0x02
#define FLAG_AGAIN	0x04
#define FLAG_PING	0x08	/* of ack frames: heartbeats */
#define FLAG_PONG	0x10
#define FLAG_QUIET	0x20	/* of ack frames: closing a connection that nobody uses */
#define FLAG_BUSY	0x40
#define FLAG_AGREED	0x80

#define EXT_RDMA	2
#define EXT_RDMA_DEST	3

/* Private data in a request or reply: the IPv4 layout, the IPv6 layout, and what a request has room for. */
#define PRIV_LEN4	32
#define PRIV_LEN6	56
#define PRIV_ROOM	56

#define CAPS_MAGIC	0x5d
#define CAPS_OURS	0x07	/* ordered duels, heartbeats, being quiet */
#define CAP_HEARTBEAT	0x02
#define CAP_QUIET	0x04

/* A header in host order; packing adds the checksum. */
struct head {
	uint64_t	seq;
	uint64_t	ack;
	uint32_t	len;
	uint16_t	sport;
	uint16_t	dport;
	uint8_t		flags;
	uint8_t		credit;
	uint8_t		ext[EXT_LEN];
};

void put_be16(uint8_t *to, uint16_t value);
void put_be32(uint8_t *to, uint32_t value);
void put_be64(uint8_t *to, uint64_t value);
uint16_t get_be16(const uint8_t *from);
uint32_t get_be32(const uint8_t *from);
uint64_t get_be64(const uint8_t *from);

void head_pack(const struct head *head, uint8_t *to);
/* Takes the fields apart, whatever the checksum says. */
void head_unpack(struct head *head, const uint8_t *from);
bool head_checksum_right(const uint8_t *from);

/* The extensions that belong to RDMA. */
void head_add_rdma(struct head *head, uint32_t rkey);
void head_add_dest(struct head *head, uint32_t rkey, uint32_t offset);

/* Bytes that tell their place and their message; the observer on the other machine makes the same. */
void pattern(uint8_t *to, size_t from, size_t len, unsigned int seed);
bool is_pattern(const uint8_t *bytes, size_t from, size_t len, unsigned int seed);

/* Private data.  @from and @to: our address and the peer's.  Returns its length. */
struct priv {
	const struct sockaddr	*from;
	const struct sockaddr	*to;
	uint8_t			major;
	uint8_t			minor;
	uint16_t		mask;
	uint8_t			tos;
	uint64_t		ack;
	uint32_t		credit;
	uint8_t			caps;		/* CAP_*, behind their magic; 0: none of it */
};

size_t priv_pack(const struct priv *priv, uint8_t *to);

#endif
