// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Starting and stopping, each in the mirror order of the other. */
#include "main.h"

#include "af_rds.h"
#include "conn.h"
#include "ib.h"
#include "inc.h"
#include "msg.h"
#include "net.h"

int rds_start(void)
{
	int err;

	/* first: if another stack has the family, nothing else is touched */
	err = rds_family_init();
	if (err)
		return err;
	err = rds_inc_cache_init();
	if (err)
		goto exit_family;
	err = rds_msg_cache_init();
	if (err)
		goto exit_inc;
	err = rds_conn_init();
	if (err)
		goto exit_msg;
	err = rds_path_wq_init();
	if (err)
		goto exit_conn;
	err = rds_net_register();
	if (err)
		goto exit_path;
	err = rds_ib_init();
	if (err)
		goto exit_net;
	rds_family_start();
	return 0;

exit_net:
	rds_net_unregister();
exit_path:
	rds_path_wq_exit();
exit_conn:
	rds_conn_exit();
exit_msg:
	rds_msg_cache_exit();
exit_inc:
	rds_inc_cache_exit();
exit_family:
	rds_family_exit();
	return err;
}

void rds_stop(void)
{
	rds_ib_exit();
	rds_net_unregister();
	rds_path_wq_exit();
	rds_conn_exit();
	rds_msg_cache_exit();
	rds_inc_cache_exit();
	rds_family_exit();
}
