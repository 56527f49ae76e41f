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
