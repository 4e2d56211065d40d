// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "inc.h"

#include <linux/cache.h>
#include <linux/slab.h>
#include "mr.h"
#include "payload.h"

static struct kmem_cache *rds_inc_cache;

struct rds_inc *rds_inc_alloc(const struct rds_header *hdr, const struct in6_addr *saddr,
			      const struct in6_addr *daddr, u32 scope, gfp_t gfp)
{
	struct rds_inc *inc = kmem_cache_zalloc(rds_inc_cache, gfp);

	if (!inc)
		return NULL;
	kref_init(&inc->ref);
	INIT_LIST_HEAD(&inc->item);
	inc->saddr = *saddr;
	inc->daddr = *daddr;
	inc->scope = scope;
	inc->seq = be64_to_cpu(hdr->seq);
	inc->sport = hdr->sport;
	inc->dport = hdr->dport;
	inc->len = be32_to_cpu(hdr->len);
	rds_ext_parse(hdr, &inc->ext);
	/* a transport with frames knows better */
	inc->rx_ns[RDS_RX_HEADER] = ktime_get_ns();
	inc->rx_ns[RDS_RX_START] = inc->rx_ns[RDS_RX_HEADER];
	return inc;
}

size_t rds_inc_mem(const struct rds_inc *inc)
{
	return L1_CACHE_ALIGN(sizeof(*inc)) + (inc->payload ? rds_payload_mem(inc->payload) : 0);
}

static void rds_inc_release(struct kref *ref)
{
	struct rds_inc *inc = container_of(ref, struct rds_inc, ref);

	rds_payload_put(inc->payload);
	if (inc->mr)
		rds_mr_put(inc->mr);
	kmem_cache_free(rds_inc_cache, inc);
}

void rds_inc_put(struct rds_inc *inc)
{
	if (inc)
		kref_put(&inc->ref, rds_inc_release);
}

int rds_inc_cache_init(void)
{
	rds_inc_cache = kmem_cache_create("rds_sockets_inc", sizeof(struct rds_inc), 0,
					  SLAB_HWCACHE_ALIGN, NULL);
	return rds_inc_cache ? 0 : -ENOMEM;
}

void rds_inc_cache_exit(void)
{
	kmem_cache_destroy(rds_inc_cache);
}
