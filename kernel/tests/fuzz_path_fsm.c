// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Input: a byte for each thing that happens to a path: event, duel, does making an endpoint fail. */
#include "fuzz.h"
#include "../path_fsm.h"

/* The worker, without its threads: what it has at hand. */
struct worker {
	enum rds_path_state	state;
	bool			endpoint;
	unsigned int		requests;	/* not answered yet */
	bool			killed;
	bool			setup_fails;
	unsigned int		closing;	/* CLOSED is still to come */
};

static void happen(struct worker *w, enum rds_path_event event, const struct rds_path_duel *duel);

static void make_endpoint(struct worker *w)
{
	MUST(!w->endpoint);
	w->endpoint = true;
}

static void drop_endpoint(struct worker *w)
{
	MUST(w->endpoint);
	w->endpoint = false;
	w->closing++;
}

static void answer_request(struct worker *w)
{
	MUST(w->requests);
	w->requests--;
}

static void act(struct worker *w, enum rds_path_action action)
{
	switch (action) {
	case RDS_ACT_NONE:
		return;
	case RDS_ACT_CONNECT:
		make_endpoint(w);
		break;
	case RDS_ACT_ACCEPT:
		answer_request(w);
		make_endpoint(w);
		break;
	case RDS_ACT_REJECT:
		answer_request(w);
		return;
	case RDS_ACT_START:
	case RDS_ACT_PROBE:
		MUST(w->endpoint && w->state == RDS_PATH_UP);
		return;
	case RDS_ACT_CLOSE:
		drop_endpoint(w);
		return;
	case RDS_ACT_CLOSE_ACCEPT:
		MUST(w->requests);	/* is looked at again when the endpoint is gone */
		drop_endpoint(w);
		return;
	case RDS_ACT_RETRY:
		MUST(!w->endpoint && w->state == RDS_PATH_DOWN);
		return;
	default:
		MUST(!"an action");
	}
	if (w->setup_fails)
		happen(w, RDS_EV_LOST, NULL);
}

static void happen(struct worker *w, enum rds_path_event event, const struct rds_path_duel *duel)
{
	struct rds_path_move move = rds_path_next(w->state, event, duel);

	MUST((unsigned int)move.state < RDS_PATH_NR_STATES);
	w->state = move.state;
	act(w, move.action);
	w->killed |= event == RDS_EV_KILL;
	MUST(w->killed == (w->state == RDS_PATH_DEAD));
	MUST(w->endpoint == (w->state == RDS_PATH_CONNECTING || w->state == RDS_PATH_UP));
	MUST(w->closing || w->state != RDS_PATH_CLOSING);
}

static void finish_closing(struct worker *w)
{
	while (w->closing) {
		w->closing--;
		happen(w, RDS_EV_CLOSED, NULL);
	}
}

/* Wherever it is, something to send leads to a connection. */
static void must_come_up(struct worker *w)
{
	w->setup_fails = false;
	finish_closing(w);
	happen(w, RDS_EV_WANTED, NULL);
	if (w->state == RDS_PATH_CONNECTING)
		happen(w, RDS_EV_ESTABLISHED, NULL);
	MUST(w->state == (w->killed ? RDS_PATH_DEAD : RDS_PATH_UP));
}

static void must_answer_requests(struct worker *w)
{
	static const struct rds_path_duel yields = { 0 };
	unsigned int limit = 2 * w->requests;

	for (; w->requests && limit; limit--) {
		happen(w, RDS_EV_REQUEST, &yields);
		finish_closing(w);
	}
	MUST(!w->requests);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct worker w = { .state = RDS_PATH_DOWN };
	struct fuzz_input in = { data, size };
	struct rds_path_duel duel;
	u8 byte;

	while (fuzz_take(&in, &byte, 1)) {
		enum rds_path_event event = byte % RDS_PATH_NR_EVENTS;

		byte /= RDS_PATH_NR_EVENTS;
		duel.ordered = byte & 1;
		duel.we_are_smaller = byte & 2;
		duel.we_asked = byte & 4;
		w.setup_fails = byte & 8;
		if (event == RDS_EV_REQUEST)
			w.requests++;
		if (event == RDS_EV_CLOSED)
			finish_closing(&w);
		else
			happen(&w, event, &duel);
	}
	must_come_up(&w);
	must_answer_requests(&w);
	return 0;
}
