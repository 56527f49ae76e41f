/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Behaviours of the simulator that no public source settles, in words. `simctl show` counts them
 * beside the assumed rows of the boards; a test that rests on one says so in its name.
 */
#ifndef SIM_MODEL_ASSUMED_H
#define SIM_MODEL_ASSUMED_H

static const char *const sim_assumed[] = {
		"a placement that the profile does not list is an invalid argument",
		"an unknown profile id is an invalid argument to create, not supported to the "
		"others",
		"of the holders that no list shows, a module and an unknown one refuse the first "
		"GPU instance, a daemon and an agent do not",
		"an NVML session alone does not keep a GPU busy, unless 'sessions hold' is "
		"injected",
		"a pending MIG mode becomes current at a reboot on boards that keep the mode",
		"a module reload is refused while any GPU is held",
		"compute instance ids and MIG device indices are the lowest free",
		"compute instances without a placement go where most (profile, placement) pairs "
		"stay free",
		"a mini-quarter compute instance in a larger GPU instance covers two slices",
		"a process holds 256 MiB",
		"the driver reserves what a board has beyond its largest profile",
		"the subsystem id is the board's own id",
		"the persistence mode is on and the compute mode is default",
		"a stale handle is an invalid argument",
		"a session of the node's former life is uninitialised",
		/* events and health */
		"an event set that falls behind by more than 64 events loses the oldest",
		"a process has at most 64 event sets, and registering for no type is an invalid "
		"argument",
		"Xids 79, 92, 94 and 95 are told by an event of their own kind too",
		"memory errors are the DRAM's, and each injection is one event of a type",
		"ECC is on as a board comes, and DRAM and SRAM are the locations that count",
		"a row waits to be remapped because of an uncorrectable error",
		"a board has 640 banks with rows to spare, and each remapped row is in another",
		"a GPU that remaps rows retires no pages",
		"a reset does the recovery actions that ask for no more",
		"a MIG device has no ECC mode, no total of errors and no field values",
		"the types of field values",
		/* machines */
		"a machine that no source describes has one NUMA node and no NVLinks",
		"eight H200 or B200 are wired as eight H100, B200 by two switches; each machine of "
		"eight has two NUMA nodes",
		"two A100 are joined by bridges, with 12 links, on one NUMA node",
		"four L40S or T4 stand on two NUMA nodes, four H100 on one each",
		"a GH200 has 72 CPUs on NUMA node 0, and its memory is NUMA node 1",
		"a NUMA node has 16 CPUs, in order of the nodes",
		"on PCIe GPUs of one NUMA node are several host bridges apart",
		/* how GPUs hang together */
		"NVLinks are spread over NVSwitches evenly and in order; switches are at bus c4 "
		"and on, those of Blackwell have the id of Hopper's",
		"a GPU in MIG mode has no NVLink that is up",
		"a MIG device is an invalid argument to questions of topology, and its P2P is not "
		"supported",
		"a GPU without NVLinks does not support questions about them, and a number beyond "
		"its links is an invalid argument",
		"an NVLink can all that there is, and P2P while it is up",
		"without NVLinks P2P is supported within a NUMA node alone",
		"the nearest GPUs at a level are those of nearer levels too",
		"to itself a GPU is at level internal, and its P2P an invalid argument",
		"where the NUMA node is not known, memory affinity is not supported and CPU "
		"affinity is every CPU",
		"the fabric of eight GPUs since Hopper is complete, of cluster and clique 0",
		"boards before Hopper do not support questions about the fabric, later ones "
		"without one say so as its state",
		"MIG calls and instances' handles answer GPU_IS_LOST on a lost GPU as device "
		"queries "
		"do, and its handles live again when it does",
		"a reset makes a pending MIG mode current on every board, and loses none",
		"persistence mode does not keep a GPU from being reset, but a daemon that holds it "
		"does",
		/* device nodes and /proc */
		"without nvidiactl the driver counts as not loaded, and a GPU without its node as "
		"not permitted",
		"who lacks a capability of an instance does not find its MIG device",
		"files of /proc tell other things than identity, version and minors as they like",
};

#define SIM_N_ASSUMED (sizeof(sim_assumed) / sizeof(sim_assumed[0]))

#endif
