/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The kernel names that the pure files use, for user space: see ../../pure.h. */
#ifndef RDS_PURE_USER_H
#define RDS_PURE_USER_H

#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <netinet/in.h>		/* before any linux/in6.h, which then stands back */
#include <sys/socket.h>
#include <linux/types.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s8 s8;
typedef __s16 s16;
typedef __s32 s32;
typedef __s64 s64;

#define U8_MAX			UINT8_MAX
#define U16_MAX			UINT16_MAX
#define U32_MAX			UINT32_MAX
#define U64_MAX			(~0ULL)

/* the text is optional, as in the kernel */
#undef static_assert
#define static_assert(condition, ...)	_Static_assert(condition, #condition)

#define __force
#define __packed		__attribute__((packed))
#define fallthrough		__attribute__((fallthrough))

#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))
#define BIT(n)			(1UL << (n))
#define BIT_ULL(n)		(1ULL << (n))
#define ALIGN(x, a)		(((x) + (a) - 1) & ~((__typeof__(x))(a) - 1))
#define min_t(type, a, b) \
	({ type min_a = (a), min_b = (b); min_a < min_b ? min_a : min_b; })
#define max_t(type, a, b) \
	({ type max_a = (a), max_b = (b); max_a > max_b ? max_a : max_b; })

#define READ_ONCE(x)		(*(const volatile __typeof__(x) *)&(x))
#define WRITE_ONCE(x, v)	(*(volatile __typeof__(x) *)&(x) = (v))
#define smp_load_acquire(p)	__atomic_load_n(p, __ATOMIC_ACQUIRE)
#define smp_store_release(p, v)	__atomic_store_n(p, v, __ATOMIC_RELEASE)

#define cpu_to_be16(x)		((__be16)htobe16(x))
#define cpu_to_be32(x)		((__be32)htobe32(x))
#define cpu_to_be64(x)		((__be64)htobe64(x))
#define be16_to_cpu(x)		((u16)be16toh((u16)(x)))
#define be32_to_cpu(x)		((u32)be32toh((u32)(x)))
#define be64_to_cpu(x)		((u64)be64toh((u64)(x)))

static inline bool is_power_of_2(unsigned long n)
{
	return n && !(n & (n - 1));
}

static inline unsigned long __ffs(unsigned long word)
{
	return __builtin_ctzl(word);
}

#define RDS_USER_UNALIGNED(type, name, load, store)		\
static inline type get_unaligned_##name(const void *p)		\
{								\
	type v;							\
								\
	memcpy(&v, p, sizeof(v));				\
	return load(v);						\
}								\
								\
static inline void put_unaligned_##name(type v, void *p)	\
{								\
	v = store(v);						\
	memcpy(p, &v, sizeof(v));				\
}

RDS_USER_UNALIGNED(u16, be16, be16toh, htobe16)
RDS_USER_UNALIGNED(u32, be32, be32toh, htobe32)
RDS_USER_UNALIGNED(u64, be64, be64toh, htobe64)
RDS_USER_UNALIGNED(u64, le64, le64toh, htole64)

#endif
