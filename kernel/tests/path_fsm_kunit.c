// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <kunit/test.h>
#include "../path_fsm.h"

struct move_row {
	enum rds_path_state	state;
	enum rds_path_event	event;
	enum rds_path_state	to;
	enum rds_path_action	action;
};

#define ROW(state, event, to, action) \
	{ RDS_PATH_##state, RDS_EV_##event, RDS_PATH_##to, RDS_ACT_##action }

/* Every state with every event; CONNECTING with REQUEST stands below. */
static const struct move_row move_rows[] = {
	ROW(DOWN,	KILL,		DEAD,		NONE),
	ROW(DOWN,	LOST,		DOWN,		NONE),
	ROW(DOWN,	REQUEST,	CONNECTING,	ACCEPT),
	ROW(DOWN,	ESTABLISHED,	DOWN,		NONE),
	ROW(DOWN,	WANTED,		CONNECTING,	CONNECT),
	ROW(DOWN,	TIMER,		CONNECTING,	CONNECT),
	ROW(DOWN,	CLOSED,		DOWN,		NONE),
	ROW(CONNECTING,	KILL,		DEAD,		CLOSE),
	ROW(CONNECTING,	LOST,		CLOSING,	CLOSE),
	ROW(CONNECTING,	ESTABLISHED,	UP,		START),
	ROW(CONNECTING,	WANTED,		CONNECTING,	NONE),
	ROW(CONNECTING,	TIMER,		CLOSING,	CLOSE),
	ROW(CONNECTING,	CLOSED,		CONNECTING,	NONE),
	ROW(UP,		KILL,		DEAD,		CLOSE),
	ROW(UP,		LOST,		CLOSING,	CLOSE),
	ROW(UP,		REQUEST,	CLOSING,	CLOSE_ACCEPT),
	ROW(UP,		ESTABLISHED,	UP,		NONE),
	ROW(UP,		WANTED,		UP,		NONE),
	ROW(UP,		TIMER,		UP,		PROBE),
	ROW(UP,		CLOSED,		UP,		NONE),
	ROW(CLOSING,	KILL,		DEAD,		NONE),
	ROW(CLOSING,	LOST,		CLOSING,	NONE),
	ROW(CLOSING,	REQUEST,	CLOSING,	REJECT),
	ROW(CLOSING,	ESTABLISHED,	CLOSING,	NONE),
	ROW(CLOSING,	WANTED,		CLOSING,	NONE),
	ROW(CLOSING,	TIMER,		CLOSING,	NONE),
	ROW(CLOSING,	CLOSED,		DOWN,		RETRY),
	ROW(DEAD,	KILL,		DEAD,		NONE),
	ROW(DEAD,	LOST,		DEAD,		NONE),
	ROW(DEAD,	REQUEST,	DEAD,		REJECT),
	ROW(DEAD,	ESTABLISHED,	DEAD,		NONE),
	ROW(DEAD,	WANTED,		DEAD,		NONE),
	ROW(DEAD,	TIMER,		DEAD,		NONE),
	ROW(DEAD,	CLOSED,		DEAD,		NONE),
};

static void move_desc(const struct move_row *row, char *desc)
{
	sprintf(desc, "%s, %s", rds_path_state_name(row->state), rds_path_event_name(row->event));
}

KUNIT_ARRAY_PARAM(move, move_rows, move_desc);

static struct rds_path_duel duel_of(u32 bits)
{
	struct rds_path_duel duel = {
		.ordered = bits & 4, .we_are_smaller = bits & 2, .we_asked = bits & 1,
	};

	return duel;
}

/* Outside CONNECTING nothing depends on who would win a duel. */
static void path_move(struct kunit *test)
{
	const struct move_row *row = test->param_value;
	struct rds_path_move move;
	struct rds_path_duel duel;
	u32 bits;

	for (bits = 0; bits < 8; bits++) {
		duel = duel_of(bits);
		move = rds_path_next(row->state, row->event, &duel);
		KUNIT_EXPECT_EQ_MSG(test, move.state, row->to, "duel %u", bits);
		KUNIT_EXPECT_EQ_MSG(test, move.action, row->action, "duel %u", bits);
	}
	if (row->event != RDS_EV_REQUEST) {
		move = rds_path_next(row->state, row->event, NULL);
		KUNIT_EXPECT_EQ(test, move.state, row->to);
		KUNIT_EXPECT_EQ(test, move.action, row->action);
	}
}

/* A request while CONNECTING. */
struct duel_row {
	bool			ordered;
	bool			we_are_smaller;
	bool			we_asked;
	enum rds_path_state	to;
	enum rds_path_action	action;
};

static const struct duel_row duel_rows[] = {
	{ false, false, false, RDS_PATH_CLOSING, RDS_ACT_CLOSE_ACCEPT },
	{ false, false, true, RDS_PATH_CLOSING, RDS_ACT_CLOSE_ACCEPT },
	{ false, true, false, RDS_PATH_CLOSING, RDS_ACT_CLOSE_ACCEPT },
	{ false, true, true, RDS_PATH_CLOSING, RDS_ACT_CLOSE_ACCEPT },
	{ true, false, false, RDS_PATH_CLOSING, RDS_ACT_CLOSE_ACCEPT },
	{ true, false, true, RDS_PATH_CLOSING, RDS_ACT_CLOSE_ACCEPT },
	{ true, true, false, RDS_PATH_CLOSING, RDS_ACT_CLOSE_ACCEPT },
	{ true, true, true, RDS_PATH_CONNECTING, RDS_ACT_REJECT },
};

static void duel_desc(const struct duel_row *row, char *desc)
{
	sprintf(desc, "%s, we are %s, %s", row->ordered ? "ordered" : "not ordered",
		row->we_are_smaller ? "smaller" : "larger", row->we_asked ? "asked" : "accepted");
}

KUNIT_ARRAY_PARAM(duel, duel_rows, duel_desc);

static void path_duel(struct kunit *test)
{
	const struct duel_row *row = test->param_value;
	const struct rds_path_duel duel = {
		.ordered = row->ordered,
		.we_are_smaller = row->we_are_smaller,
		.we_asked = row->we_asked,
	};
	struct rds_path_move move;

	move = rds_path_next(RDS_PATH_CONNECTING, RDS_EV_REQUEST, &duel);
	KUNIT_EXPECT_EQ(test, move.state, row->to);
	KUNIT_EXPECT_EQ(test, move.action, row->action);
}

/* Two of us that ask at once: exactly one of the requests survives, whoever is smaller. */
static void path_duel_has_one_winner(struct kunit *test)
{
	const struct rds_path_duel smaller = {
		.ordered = true, .we_are_smaller = true, .we_asked = true,
	};
	const struct rds_path_duel larger = { .ordered = true, .we_asked = true };
	struct rds_path_move a, b;

	a = rds_path_next(RDS_PATH_CONNECTING, RDS_EV_REQUEST, &smaller);
	b = rds_path_next(RDS_PATH_CONNECTING, RDS_EV_REQUEST, &larger);
	KUNIT_EXPECT_EQ(test, a.action, RDS_ACT_REJECT);
	KUNIT_EXPECT_EQ(test, b.action, RDS_ACT_CLOSE_ACCEPT);
}

static bool in_use(enum rds_path_state state)
{
	return state == RDS_PATH_CONNECTING || state == RDS_PATH_UP;
}

/* What holds for every pair, whatever the table says. */
static void expect_rules(struct kunit *test, enum rds_path_state state, enum rds_path_event event,
			 const struct rds_path_duel *duel)
{
	struct rds_path_move move = rds_path_next(state, event, duel);

	switch (move.action) {
	case RDS_ACT_ACCEPT:
	case RDS_ACT_CONNECT:
		KUNIT_EXPECT_EQ(test, state, RDS_PATH_DOWN);
		KUNIT_EXPECT_EQ(test, move.state, RDS_PATH_CONNECTING);
		break;
	case RDS_ACT_CLOSE:
	case RDS_ACT_CLOSE_ACCEPT:
		KUNIT_EXPECT_TRUE(test, in_use(state));		/* none is closed twice */
		KUNIT_EXPECT_FALSE(test, in_use(move.state));
		break;
	case RDS_ACT_NONE:
	case RDS_ACT_REJECT:
	case RDS_ACT_START:
	case RDS_ACT_PROBE:
	case RDS_ACT_RETRY:
		KUNIT_EXPECT_EQ(test, in_use(move.state), in_use(state));	/* none is lost */
		break;
	}
	KUNIT_EXPECT_EQ(test, move.action == RDS_ACT_ACCEPT || move.action == RDS_ACT_REJECT ||
			      move.action == RDS_ACT_CLOSE_ACCEPT,
			event == RDS_EV_REQUEST);
	if (event == RDS_EV_KILL || state == RDS_PATH_DEAD)
		KUNIT_EXPECT_EQ(test, move.state, RDS_PATH_DEAD);
}

static void path_rules_of_all_moves(struct kunit *test)
{
	enum rds_path_state state;
	enum rds_path_event event;
	struct rds_path_duel duel;
	u32 bits;

	for (bits = 0; bits < 8; bits++) {
		duel = duel_of(bits);
		for (state = 0; state < RDS_PATH_NR_STATES; state++)
			for (event = 0; event < RDS_PATH_NR_EVENTS; event++)
				expect_rules(test, state, event, &duel);
	}
}

/* The rows above leave no pair out. */
static void path_rows_are_complete(struct kunit *test)
{
	u8 seen[RDS_PATH_NR_STATES][RDS_PATH_NR_EVENTS] = { 0 };
	u32 i, state, event;

	seen[RDS_PATH_CONNECTING][RDS_EV_REQUEST] = 1;
	for (i = 0; i < ARRAY_SIZE(move_rows); i++)
		seen[move_rows[i].state][move_rows[i].event]++;
	for (state = 0; state < RDS_PATH_NR_STATES; state++)
		for (event = 0; event < RDS_PATH_NR_EVENTS; event++)
			KUNIT_EXPECT_EQ_MSG(test, seen[state][event], 1, "%u, %u", state, event);
}

static void path_names(struct kunit *test)
{
	enum rds_path_state s, s2;
	enum rds_path_event e, e2;

	for (s = 0; s < RDS_PATH_NR_STATES; s++)
		for (s2 = 0; s2 <= RDS_PATH_NR_STATES; s2++)
			KUNIT_EXPECT_EQ(test, s == s2, !strcmp(rds_path_state_name(s),
							       rds_path_state_name(s2)));
	for (e = 0; e < RDS_PATH_NR_EVENTS; e++)
		for (e2 = 0; e2 <= RDS_PATH_NR_EVENTS; e2++)
			KUNIT_EXPECT_EQ(test, e == e2, !strcmp(rds_path_event_name(e),
							       rds_path_event_name(e2)));
	KUNIT_EXPECT_EQ(test, strcmp(rds_path_state_name(RDS_PATH_UP), "up"), 0);
	KUNIT_EXPECT_EQ(test, strcmp(rds_path_event_name(RDS_EV_KILL), "kill"), 0);
}

static struct kunit_case path_fsm_cases[] = {
	KUNIT_CASE_PARAM(path_move, move_gen_params),
	KUNIT_CASE_PARAM(path_duel, duel_gen_params),
	KUNIT_CASE(path_duel_has_one_winner),
	KUNIT_CASE(path_rules_of_all_moves),
	KUNIT_CASE(path_rows_are_complete),
	KUNIT_CASE(path_names),
	{}
};

static struct kunit_suite path_fsm_suite = {
	.name = "rds_path_fsm",
	.test_cases = path_fsm_cases,
};

kunit_test_suite(path_fsm_suite);
