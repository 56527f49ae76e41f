/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one gate that every entry passes: it counts the call, applies the delay, applies the fault,
 * answers for a GPU that is lost, and lets the implementation run. Nothing else in the simulator
 * knows of faults. Between entering and leaving the node stays mapped.
 */
#ifndef SIM_NVML_GATE_H
#define SIM_NVML_GATE_H

#include "abi/nvml.h"
#include "model/fault.h"
#include "nvml/calls.h"
#include "nvml/target.h"

struct sim_gate_page;

struct sim_gate {
	struct sim_verdict verdict;
	struct sim_trouble trouble; /* of the GPUs that the call touches */
	nvmlReturn_t result;	    /* the answer when the implementation is not to run */
	struct sim_gate_page *page; /* set in the child of a detached call */
	void *out;
	size_t out_size;
};

/**
 * sim_gate_enter() - before the implementation
 * @gate:      filled
 * @call:      counted
 * @arguments: the call's first two
 * @out:       the call's only output, or NULL; copied back from a detached child
 * @out_size:  its bytes
 *
 * Return: true when the implementation is to run; else gate->result is the answer. May kill the
 * process, sleep, or return in a forked child (which ends in sim_gate_leave()).
 */
bool sim_gate_enter(struct sim_gate *gate, enum sim_nvml_call call,
		const struct sim_argument arguments[2], void *out, size_t out_size);

/**
 * sim_gate_leave() - after the implementation
 * @gate:   from sim_gate_enter()
 * @result: of the implementation
 *
 * Return: the answer; TIMEOUT when the node's lock was not to be had. Does not return in a detached child. May kill the process.
 */
nvmlReturn_t sim_gate_leave(struct sim_gate *gate, nvmlReturn_t result);

#endif
