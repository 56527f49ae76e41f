/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A simulated node for a test: made by the built simctl in a folder of its own, its library loaded
 * by path as the product loads it, every entry as a pointer of the vendor's type.
 */
#ifndef TESTS_UNIT_SIM_NODE_H
#define TESTS_UNIT_SIM_NODE_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <jansson.h>

#include "abi/nvml_symbols.h"

struct nvml {
	void *handle;
#define X(name, need, params, args, out, checked_by) __typeof__(&name) name;
	BH_NVML_SYMBOLS(X)
	BH_NVML_TEXT_SYMBOLS(X)
#undef X
};

struct node {
	char dir[64];
	struct nvml nvml;
};

/**
 * node_start() - make a node and load its library; no session yet
 * @node:    filled
 * @machine: for simctl create
 */
void node_start(struct node *node, const char *machine);

/**
 * node_stop() - unload and remove
 * @node: from node_start()
 */
void node_stop(struct node *node);

/**
 * node_ctl() - run simctl COMMAND DIR WORDS…
 * @node:    its DIR follows the command
 * @command: "inject", "check", …
 * @words:   separated by single blanks; may be empty
 *
 * Return: its exit status.
 */
int node_ctl(const struct node *node, const char *command, const char *words);

/**
 * node_show() - what simctl show --json says
 * @node: borrowed
 *
 * Return: a new reference.
 */
json_t *node_show(const struct node *node);

/**
 * node_gpu() - open a session and GPU @index, MIG on when @mig
 * @node:  borrowed
 * @index: of the GPU
 * @mig:   whether to switch MIG on
 */
nvmlDevice_t node_gpu(struct node *node, unsigned int index, int mig);

/** node_create() - a GPU instance where the driver puts it; return: its handle, NULL if refused */
nvmlGpuInstance_t node_create(struct node *node, nvmlDevice_t gpu, unsigned int profile_id);

/** node_create_at() - a GPU instance at a placement; return: NVML's answer */
nvmlReturn_t node_create_at(struct node *node, nvmlDevice_t gpu, unsigned int profile_id,
		unsigned int start, unsigned int size, nvmlGpuInstance_t *ret_gi);

/** node_info() - of a GPU instance; fails the test when that fails */
nvmlGpuInstanceInfo_t node_info(struct node *node, nvmlGpuInstance_t gi);

#endif
