/* SPDX-License-Identifier: Apache-2.0 */
/* A GPU's placement units as a line that shows who holds which. */
#ifndef BH_CLI_PICTURE_H
#define BH_CLI_PICTURE_H

#include "gpu/inventory.h"

/**
 * picture_units() - "|*3g.40gb          |1g.10gb |.       |x       |"
 * @gpu: borrowed
 *
 * In use *, not ours !, free ., out of reach x. Marks come first and are never cut; names are cut
 * where the terminal is narrow, and then told below. Colours repeat what the marks say.
 */
void picture_units(const struct bh_gpu *gpu);

/**
 * picture_holders() - lines that say who is in which instance
 * @gpu: borrowed
 */
void picture_holders(const struct bh_gpu *gpu);

#endif
