/* SPDX-License-Identifier: Apache-2.0 */
/* The board that --model names. */
#ifndef BH_CLI_MODEL_H
#define BH_CLI_MODEL_H

#include "gpu/catalogue.h"

/**
 * cli_find_model() - a board of the catalogue
 * @slug: borrowed; as somebody wrote it
 * @err:  UNKNOWN_NAME with all there are, and the nearest
 *
 * Return: a constant, NULL if there is none.
 */
const struct bh_model *cli_find_model(const char *slug, struct bh_error *err);

#endif
