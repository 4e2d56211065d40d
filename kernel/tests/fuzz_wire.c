// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Input: a header, the type of an extension to add, its data. */
#include "fuzz.h"
#include "../wire.h"

static void add_and_find(const struct rds_header *h, u8 type, const u8 *data)
{
	struct rds_header changed = *h;
	struct rds_ext before, after;
	int err;

	rds_ext_parse(h, &before);
	err = rds_ext_add(&changed, type, data);
	MUST(err == 0 || err == -EINVAL || err == -ENOSPC);
	MUST(!memcmp(&changed, h, offsetof(struct rds_header, ext)));
	if (err)
		MUST(!memcmp(&changed, h, sizeof(changed)));
	if (err)
		return;

	rds_ext_parse(&changed, &after);
	MUST(after.has_rdma == (before.has_rdma || type == RDS_EXT_RDMA));
	MUST(after.has_npaths == (before.has_npaths || type == RDS_EXT_NPATHS));
	MUST(after.has_generation == (before.has_generation || type == RDS_EXT_GENERATION));
	MUST(after.has_dest == (before.has_dest || type == RDS_EXT_RDMA_DEST));
	if (before.has_rdma)
		MUST(after.rdma_rkey == before.rdma_rkey);
	if (before.has_npaths)
		MUST(after.npaths == before.npaths);
	if (type == RDS_EXT_RDMA_DEST)
		MUST(after.dest_offset == get_unaligned_be32(data + 4));
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct fuzz_input in = { data, size };
	struct rds_header h, sealed;
	u8 type, ext[8];

	if (!fuzz_take(&in, &h, sizeof(h)) || !fuzz_take(&in, &type, 1) ||
	    !fuzz_take(&in, ext, sizeof(ext)))
		return 0;

	add_and_find(&h, type, ext);

	sealed = h;
	rds_header_seal(&sealed);
	MUST(rds_header_intact(&sealed));
	/* a sum that held was the right one; 0 and 0xffff are the same to the algorithm */
	if (h.csum && rds_header_intact(&h))
		MUST(sealed.csum == h.csum || (!sealed.csum && h.csum == cpu_to_be16(0xffff)));
	return 0;
}
