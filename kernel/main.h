/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Everything there is of the stack, on and off. */
#ifndef RDS_MAIN_H
#define RDS_MAIN_H

/* Take the family and start.  Returns 0, or with nothing left behind -EEXIST if another stack has the
 * family, -ENOMEM, or what the RDMA core says.  Sleeps.
 */
int rds_start(void);

/* No socket is left.  Sleeps until every connection and endpoint is gone. */
void rds_stop(void);

#endif
