// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Gives soft-RoCE devices to network namespaces, for vm/containers.sh.
 *
 * With "rdma system set netns exclusive" a device belongs to one namespace.  "rdma dev set DEV netns NAME" hands one over, but
 * soft-RoCE refuses: it does not say that it can be taken from the programs that have it open, and would not work when it
 * comes back, since it cannot make the queue pair that connecting needs (QP1) a second time.
 *
 * So here a device can be given away from the start: the one that is made next belongs to the namespace whose descriptor
 * was written to parameter "owner".  And it can be taken from there, with "rdma dev set", or by the core when the
 * namespace ends: after that it is good for nothing but being deleted.  No program has one open, so that nothing is to do.
 *
 * To be loaded before those that ask for a device's namespace when it comes.
 */
#include <linux/module.h>
#include <net/net_namespace.h>
#include <rdma/ib_verbs.h>

static struct net *owner_next;

static int owner_set(const char *text, const struct kernel_param *param)
{
	struct net *net;
	int fd, err;

	err = kstrtoint(text, 10, &fd);
	if (err)
		return err;
	net = get_net_ns_by_fd(fd);
	if (IS_ERR(net))
		return PTR_ERR(net);
	net = xchg(&owner_next, net);
	if (net)
		put_net(net);
	return 0;
}

static const struct kernel_param_ops owner_ops = {
	.set = owner_set,
};
module_param_cb(owner, &owner_ops, NULL, 0200);
MODULE_PARM_DESC(owner, "File descriptor of the namespace that the next soft-RoCE device is to belong to");

static void owner_disassociate(struct ib_ucontext *context)
{
}

/* As rdma_dev_change_netns() does it, which nobody but the core may call. */
static int owner_add(struct ib_device *device)
{
	struct net *net;
	int err = 0;

	if (device->ops.driver_id != RDMA_DRIVER_RXE || device->ops.disassociate_ucontext)
		return -EOPNOTSUPP;
	device->ops.disassociate_ucontext = owner_disassociate;
	net = xchg(&owner_next, NULL);
	if (net) {
		write_pnet(&device->coredev.rdma_net, net);
		err = device_rename(&device->dev, dev_name(&device->dev));
		put_net(net);
	}
	return err;
}

static void owner_remove(struct ib_device *device, void *data)
{
	device->ops.disassociate_ucontext = NULL;
}

static struct ib_client owner_client = {
	.name	= "rxe_owner",
	.add	= owner_add,
	.remove	= owner_remove,
};

static int __init owner_init(void)
{
	return ib_register_client(&owner_client);
}

static void __exit owner_exit(void)
{
	ib_unregister_client(&owner_client);
	if (owner_next)
		put_net(owner_next);
}

module_init(owner_init);
module_exit(owner_exit);

MODULE_DESCRIPTION("Gives soft-RoCE devices to network namespaces, for tests");
MODULE_LICENSE("Dual BSD/GPL");
