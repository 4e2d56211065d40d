/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The socket family as main.c sees it. */
#ifndef RDS_AF_RDS_H
#define RDS_AF_RDS_H

/* Take AF_RDS; -EEXIST, with a line in the log, if another stack has it.  No socket can be made
 * before rds_family_start().
 */
int rds_family_init(void);
void rds_family_start(void);
void rds_family_exit(void);

#endif
