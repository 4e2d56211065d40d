/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The state machine of a path: states, events, legal moves. */
#ifndef RDS_PATH_FSM_H
#define RDS_PATH_FSM_H

#include "pure.h"

enum rds_path_state {
	RDS_PATH_DOWN,		/* no endpoint */
	RDS_PATH_CONNECTING,	/* an endpoint that cannot carry messages yet */
	RDS_PATH_UP,
	RDS_PATH_CLOSING,	/* the endpoint is being drained */
	RDS_PATH_DEAD,		/* for good: the connection is going away */
	RDS_PATH_NR_STATES
};

enum rds_path_event {
	RDS_EV_KILL,		/* the connection must go: namespace or module exit */
	RDS_EV_LOST,		/* the current endpoint failed, or was told to go */
	RDS_EV_REQUEST,		/* the peer asks to connect */
	RDS_EV_ESTABLISHED,	/* the current endpoint can carry messages */
	RDS_EV_WANTED,		/* there is something to send */
	RDS_EV_TIMER,		/* DOWN: the back-off is over; CONNECTING: took too long; UP: time for a heartbeat */
	RDS_EV_CLOSED,		/* the endpoint is drained and gone */
	RDS_PATH_NR_EVENTS
};

/* What the worker has to do after the move. */
enum rds_path_action {
	RDS_ACT_NONE,
	RDS_ACT_CONNECT,	/* make an endpoint and start connecting */
	RDS_ACT_ACCEPT,		/* make an endpoint of the request at hand */
	RDS_ACT_REJECT,		/* refuse the request at hand */
	RDS_ACT_START,		/* send the congestion map, then what is queued */
	RDS_ACT_CLOSE,		/* drain the endpoint; ends in RDS_EV_CLOSED */
	RDS_ACT_CLOSE_ACCEPT,	/* the same, then take the request at hand as a new event */
	RDS_ACT_PROBE,		/* look whether the peer lives */
	RDS_ACT_RETRY,		/* if anything waits to be sent: arm the back-off timer */
};

struct rds_path_move {
	enum rds_path_state	state;
	enum rds_path_action	action;
};

/* What the decision on a request depends on. */
struct rds_path_duel {
	bool	ordered;	/* the peer settles simultaneous requests by address, as we do */
	bool	we_are_smaller;	/* our address is the smaller one */
	bool	we_asked;	/* CONNECTING: by our own request, not by accepting one */
};

/* The move for @event in @state.  @duel is read for RDS_EV_REQUEST only, and may else be NULL.
 * Every pair is defined: an event that means nothing in a state leaves it alone
 * (RDS_ACT_NONE), a request always gets an answer.
 *
 *            KILL          LOST          REQUEST            ESTABLISHED  WANTED        TIMER         CLOSED
 * DOWN       DEAD          -             CONNECTING,ACCEPT  -            CONNECTING,   CONNECTING,   -
 *                                                                        CONNECT       CONNECT
 * CONNECTING DEAD,CLOSE    CLOSING,CLOSE by duel, below     UP,START     -             CLOSING,CLOSE -
 * UP         DEAD,CLOSE    CLOSING,CLOSE CLOSING,           -            -             UP,PROBE      -
 *                                        CLOSE_ACCEPT
 * CLOSING    DEAD          -             CLOSING,REJECT     -            -             -             DOWN,RETRY
 * DEAD       -             -             DEAD,REJECT        -            -             -             -
 *
 * A request while CONNECTING: if we are the smaller one, the peer orders duels too, and our own
 * request is under way, refuse theirs (CONNECTING,REJECT) as they will take ours.  Else
 * CLOSING,CLOSE_ACCEPT: theirs replaces what we have.  A request while UP means that the peer
 * has given the old connection up.
 */
struct rds_path_move rds_path_next(enum rds_path_state state, enum rds_path_event event,
				   const struct rds_path_duel *duel);

const char *rds_path_state_name(enum rds_path_state state);
const char *rds_path_event_name(enum rds_path_event event);

#endif
