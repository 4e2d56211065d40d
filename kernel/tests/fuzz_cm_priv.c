// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Input: IPv6 or not (lowest bit of the first byte), private data. */
#include "fuzz.h"
#include "../cm_priv.h"

/* What was decoded, encoded again, is the same bytes, apart from what means nothing. */
static void encode_again(const struct rds_cm_priv *p, bool v6, const u8 *from)
{
	u8 buf[RDS_CM_PRIV_LEN_V6];
	u32 addrs = v6 ? 32 : 8;
	int len = rds_cm_priv_encode(p, v6, buf);

	MUST(len == (v6 ? RDS_CM_PRIV_LEN_V6 : RDS_CM_PRIV_LEN_V4));
	MUST(!memcmp(buf, from, addrs + 5));
	MUST(!buf[addrs + 5] && !buf[addrs + 6] && !buf[addrs + 7]);
	MUST(!memcmp(buf + addrs + 8, from + addrs + 8, 12));
	if (p->caps)
		MUST(!memcmp(buf + addrs + 20, from + addrs + 20, 4));
	else
		MUST(!memcmp(buf + addrs + 20, "\0\0\0\0", 4));
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct fuzz_input in = { data, size };
	struct rds_cm_priv p;
	u16 version;
	void *priv;
	u8 v6;
	int err;

	if (!fuzz_take(&in, &v6, 1))
		return 0;
	v6 &= 1;
	priv = fuzz_copy(in.data, in.left);
	err = rds_cm_priv_decode(&p, v6, priv, in.left);
	if (!err)
		encode_again(&p, v6, priv);
	else
		MUST(!p.version && !p.caps && !p.ack && !p.credit);

	version = rds_cm_choose_version(&p, v6, in.left);
	MUST(!version || rds_cm_reply_version_ok(version));
	MUST(!version || version == 0x0301 || version == 0x0400 || version == 0x0401);
	if (err)
		MUST(version == (in.left ? 0x0400 : 0));
	MUST(rds_addr_cmp(&p.saddr, &p.daddr) == 0 ||
	     (rds_addr_cmp(&p.saddr, &p.daddr) < 0) != (rds_addr_cmp(&p.daddr, &p.saddr) < 0));
	free(priv);
	return 0;
}
