/* SPDX-License-Identifier: Apache-2.0 */
#include "model/client.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static struct flock byte_of(uint32_t slot, short type)
{
	return (struct flock){
			.l_type = type, .l_whence = SEEK_SET, .l_start = (off_t) slot, .l_len = 1};
}

static bool is_alive(const struct sim_tx *tx, uint32_t slot)
{
	struct flock lock = byte_of(slot, F_WRLCK);

	/* not to be asked: alive, the safe side */
	return fcntl(tx->map->clients_fd, F_GETLK, &lock) < 0 || lock.l_type != F_UNLCK;
}

static void empty(struct sim_tx *tx, uint32_t slot)
{
	struct sim_client *c = &tx->state->clients[slot];

	sim_tx_touch(tx, c, sizeof(*c));
	memset(c, 0, sizeof(*c));
}

uint32_t sim_client_sweep(struct sim_tx *tx, uint32_t own)
{
	uint32_t dead = 0;

	for (uint32_t i = 0; i < SIM_CLIENTS_MAX && dead < SIM_UNDO_RANGES / 2; i++) {
		if (!tx->state->clients[i].used || i == own || is_alive(tx, i))
			continue;
		empty(tx, i);
		dead++;
	}
	return dead;
}

enum sim_result sim_client_attach(struct sim_tx *tx, uint32_t *ret_slot)
{
	(void) sim_client_sweep(tx, SIM_CLIENTS_MAX);
	for (uint32_t i = 0; i < SIM_CLIENTS_MAX; i++) {
		struct sim_client *c = &tx->state->clients[i];
		struct flock lock = byte_of(i, F_WRLCK);

		if (c->used || fcntl(tx->map->clients_fd, F_SETLK, &lock) < 0)
			continue;
		sim_tx_touch(tx, c, sizeof(*c));
		*c = (struct sim_client){.used = 1, .pid = getpid(), .boot = tx->state->node.boot};
		(void) prctl(PR_GET_NAME, c->name);
		*ret_slot = i;
		return SIM_OK;
	}
	return SIM_NO_ROOM;
}

bool sim_client_is_mine(const struct sim_map *map, uint32_t slot)
{
	struct flock lock = byte_of(slot, F_WRLCK);

	return fcntl(map->clients_fd, F_SETLK, &lock) == 0;
}

void sim_client_detach(struct sim_tx *tx, uint32_t slot)
{
	struct flock lock = byte_of(slot, F_UNLCK);

	empty(tx, slot);
	/* frees a byte that nobody else can hold; a failure leaves it to the process's end */
	(void) fcntl(tx->map->clients_fd, F_SETLK, &lock);
}

void sim_client_opens(struct sim_tx *tx, uint32_t slot, uint32_t gpu)
{
	struct sim_client *c = &tx->state->clients[slot];

	/* another thread may have ended the session while this call was on its way */
	if (slot >= SIM_CLIENTS_MAX || c->open_gpus & 1U << gpu)
		return;
	sim_tx_touch(tx, c, sizeof(*c));
	c->open_gpus |= 1U << gpu;
}

bool sim_client_others_open(struct sim_tx *tx, uint32_t own, uint32_t gpu)
{
	for (uint32_t i = 0; i < SIM_CLIENTS_MAX; i++) {
		const struct sim_client *c = &tx->state->clients[i];

		if (c->used && i != own && c->open_gpus & 1U << gpu && is_alive(tx, i))
			return true;
	}
	return false;
}
