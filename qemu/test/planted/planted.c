// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * One bug of each kind that the debug kernel is there to find, made while the module loads: "insmod planted.ko bug=NAME".
 * The rig's own test checks that each is found. Nothing else loads this.
 */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/refcount.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/timer.h>

#define SIZE 40

static char *bug;
module_param(bug, charp, 0);
MODULE_PARM_DESC(bug, "which bug");

static DEFINE_SPINLOCK(first_lock);
static DEFINE_SPINLOCK(second_lock);

/* The compiler must not see what it could warn of or leave out. */
static char *object(void)
{
	char *object = kzalloc(SIZE, GFP_KERNEL);

	OPTIMIZER_HIDE_VAR(object);
	return object;
}

static void use_after_free(void)
{
	char *freed = object();

	kfree(freed);
	OPTIMIZER_HIDE_VAR(freed);
	WRITE_ONCE(freed[0], 1);
}

static void missing_length_check(void)
{
	char *small = object();

	if (small)
		WRITE_ONCE(small[SIZE], 1);
	kfree(small);
}

static void double_free(void)
{
	char *twice = object();

	kfree(twice);
	OPTIMIZER_HIDE_VAR(twice);
	kfree(twice);
}

static void dropped_put(void)
{
	object();
}

static void put_too_many(void)
{
	refcount_t users = REFCOUNT_INIT(1);

	refcount_dec(&users);
}

static void sleep_under_spinlock(void)
{
	spin_lock(&first_lock);
	msleep(1);
	spin_unlock(&first_lock);
}

static void locks_in_both_orders(void)
{
	spin_lock(&first_lock);
	spin_lock(&second_lock);
	spin_unlock(&second_lock);
	spin_unlock(&first_lock);
	spin_lock(&second_lock);
	spin_lock(&first_lock);
	spin_unlock(&first_lock);
	spin_unlock(&second_lock);
}

static void no_action(struct timer_list *timer)
{
}

static void freed_while_active(void)
{
	struct timer_list *timer = kzalloc(sizeof(*timer), GFP_KERNEL);

	if (!timer)
		return;
	timer_setup(timer, no_action, 0);
	mod_timer(timer, jiffies + 3600 * HZ);
	/* the detector deactivates it after its report */
	kfree(timer);
}

static void lost_wakeup(void)
{
	DECLARE_COMPLETION_ONSTACK(never);

	wait_for_completion(&never);
}

static const struct {
	const char *name;
	void (*make)(void);
} bugs[] = {
	{ "use_after_free", use_after_free },
	{ "missing_length_check", missing_length_check },
	{ "double_free", double_free },
	{ "dropped_put", dropped_put },
	{ "put_too_many", put_too_many },
	{ "sleep_under_spinlock", sleep_under_spinlock },
	{ "locks_in_both_orders", locks_in_both_orders },
	{ "freed_while_active", freed_while_active },
	{ "lost_wakeup", lost_wakeup },
};

static int __init planted_init(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(bugs); i++) {
		if (bug && !strcmp(bug, bugs[i].name)) {
			bugs[i].make();
			return 0;
		}
	}
	return -EINVAL;
}

static void __exit planted_exit(void)
{
}

module_init(planted_init);
module_exit(planted_exit);
MODULE_DESCRIPTION("Bugs for the rig's own test");
MODULE_LICENSE("Dual BSD/GPL");
