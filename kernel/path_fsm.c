// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "path_fsm.h"

#define MOVE(to, act)	{ RDS_PATH_##to, RDS_ACT_##act }

/* Every pair is spelled out, those with nothing to do too; the picture is in the header. */
static const struct rds_path_move moves[RDS_PATH_NR_STATES][RDS_PATH_NR_EVENTS] = {
	[RDS_PATH_DOWN] = {
		[RDS_EV_KILL]		= MOVE(DEAD, NONE),
		[RDS_EV_LOST]		= MOVE(DOWN, NONE),
		[RDS_EV_REQUEST]	= MOVE(CONNECTING, ACCEPT),
		[RDS_EV_ESTABLISHED]	= MOVE(DOWN, NONE),
		[RDS_EV_WANTED]		= MOVE(CONNECTING, CONNECT),
		[RDS_EV_TIMER]		= MOVE(CONNECTING, CONNECT),
		[RDS_EV_CLOSED]		= MOVE(DOWN, NONE),
	},
	[RDS_PATH_CONNECTING] = {
		[RDS_EV_KILL]		= MOVE(DEAD, CLOSE),
		[RDS_EV_LOST]		= MOVE(CLOSING, CLOSE),
		[RDS_EV_REQUEST]	= MOVE(CLOSING, CLOSE_ACCEPT),	/* or wins_duel() */
		[RDS_EV_ESTABLISHED]	= MOVE(UP, START),
		[RDS_EV_WANTED]		= MOVE(CONNECTING, NONE),
		[RDS_EV_TIMER]		= MOVE(CLOSING, CLOSE),
		[RDS_EV_CLOSED]		= MOVE(CONNECTING, NONE),
	},
	[RDS_PATH_UP] = {
		[RDS_EV_KILL]		= MOVE(DEAD, CLOSE),
		[RDS_EV_LOST]		= MOVE(CLOSING, CLOSE),
		[RDS_EV_REQUEST]	= MOVE(CLOSING, CLOSE_ACCEPT),
		[RDS_EV_ESTABLISHED]	= MOVE(UP, NONE),
		[RDS_EV_WANTED]		= MOVE(UP, NONE),
		[RDS_EV_TIMER]		= MOVE(UP, PROBE),
		[RDS_EV_CLOSED]		= MOVE(UP, NONE),
	},
	[RDS_PATH_CLOSING] = {
		[RDS_EV_KILL]		= MOVE(DEAD, NONE),
		[RDS_EV_LOST]		= MOVE(CLOSING, NONE),
		[RDS_EV_REQUEST]	= MOVE(CLOSING, REJECT),
		[RDS_EV_ESTABLISHED]	= MOVE(CLOSING, NONE),
		[RDS_EV_WANTED]		= MOVE(CLOSING, NONE),
		[RDS_EV_TIMER]		= MOVE(CLOSING, NONE),
		[RDS_EV_CLOSED]		= MOVE(DOWN, RETRY),
	},
	[RDS_PATH_DEAD] = {
		[RDS_EV_KILL]		= MOVE(DEAD, NONE),
		[RDS_EV_LOST]		= MOVE(DEAD, NONE),
		[RDS_EV_REQUEST]	= MOVE(DEAD, REJECT),
		[RDS_EV_ESTABLISHED]	= MOVE(DEAD, NONE),
		[RDS_EV_WANTED]		= MOVE(DEAD, NONE),
		[RDS_EV_TIMER]		= MOVE(DEAD, NONE),
		[RDS_EV_CLOSED]		= MOVE(DEAD, NONE),
	},
};

/* Both sides asked at once: does our request stand? */
static bool wins_duel(const struct rds_path_duel *duel)
{
	return duel->we_asked && duel->ordered && duel->we_are_smaller;
}

struct rds_path_move rds_path_next(enum rds_path_state state, enum rds_path_event event,
				   const struct rds_path_duel *duel)
{
	static const struct rds_path_move refuse = MOVE(CONNECTING, REJECT);

	if (state == RDS_PATH_CONNECTING && event == RDS_EV_REQUEST && wins_duel(duel))
		return refuse;
	return moves[state][event];
}

const char *rds_path_state_name(enum rds_path_state state)
{
	switch (state) {
	case RDS_PATH_DOWN:		return "down";
	case RDS_PATH_CONNECTING:	return "connecting";
	case RDS_PATH_UP:		return "up";
	case RDS_PATH_CLOSING:		return "closing";
	case RDS_PATH_DEAD:		return "dead";
	case RDS_PATH_NR_STATES:	break;
	}
	return "?";
}

const char *rds_path_event_name(enum rds_path_event event)
{
	switch (event) {
	case RDS_EV_KILL:		return "kill";
	case RDS_EV_LOST:		return "lost";
	case RDS_EV_REQUEST:		return "request";
	case RDS_EV_ESTABLISHED:	return "established";
	case RDS_EV_WANTED:		return "wanted";
	case RDS_EV_TIMER:		return "timer";
	case RDS_EV_CLOSED:		return "closed";
	case RDS_PATH_NR_EVENTS:	break;
	}
	return "?";
}
