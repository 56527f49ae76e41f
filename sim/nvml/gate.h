/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one gate that every entry passes: it counts the call, applies the delay, applies the fault,
 * and lets the implementation run. Nothing else in the simulator knows of faults.
 */
#ifndef SIM_NVML_GATE_H
#define SIM_NVML_GATE_H

#include "abi/nvml.h"
#include "model/fault.h"
#include "nvml/calls.h"

struct sim_gate_page;

struct sim_gate {
	struct sim_verdict verdict;
	nvmlReturn_t result;	    /* the answer when the implementation is not to run */
	struct sim_gate_page *page; /* set in the child of a detached call */
	void *out;
	size_t out_size;
};

/**
 * sim_gate_enter() - before the implementation
 * @gate:     filled
 * @call:     counted
 * @out:      the call's only output, or NULL; copied back from a detached child
 * @out_size: its bytes
 *
 * Return: true when the implementation is to run; else gate->result is the answer. May kill the
 * process, sleep, or return in a forked child (which ends in sim_gate_leave()).
 */
bool sim_gate_enter(struct sim_gate *gate, enum sim_nvml_call call, void *out, size_t out_size);

/**
 * sim_gate_leave() - after the implementation
 * @gate:   from sim_gate_enter()
 * @result: of the implementation
 *
 * Return: the answer. Does not return in a detached child. May kill the process.
 */
nvmlReturn_t sim_gate_leave(struct sim_gate *gate, nvmlReturn_t result);

#endif
