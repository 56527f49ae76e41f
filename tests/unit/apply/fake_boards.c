/* SPDX-License-Identifier: Apache-2.0 */
/* The boards and wishes that the tests of the executor start from. */
#include "fake_machine.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "gpu/catalogue.h"

static const uint32_t one[] = {1}, three[] = {3};

static void describe(struct fake_machine *machine, const char *slug)
{
	const struct bh_model *model = bh_catalogue_by_slug(slug);

	assert_non_null(model);
	bh_model_describe(model, &machine->gpu);
}

static void wish(struct fake_machine *machine, struct bh_gpu_want *want,
		const struct bh_want_row *rows, size_t n_rows)
{
	struct bh_error err = {0};

	if (bh_want_fill(&machine->gpu, rows, n_rows, want, &err) < 0)
		FAKE_CHECK(machine, false, "%s", err.message);
}

static void set_up_empty(struct fake_machine *machine, struct bh_gpu_want *want)
{
	static const struct bh_want_row rows[] = {{"3g.40gb", 0, 1}, {"1g.10gb", 0, 2}};

	describe(machine, "h100-sxm5-80gb");
	machine->gpu.mig_current = machine->gpu.mig_pending = BH_MIG_OFF;
	wish(machine, want, rows, BH_ARRAY_SIZE(rows));
}

static void set_up_beside_busy(struct fake_machine *machine, struct bh_gpu_want *want)
{
	static const struct bh_want_row rows[] = {{"3g.40gb", 0, 1}, {"4g.40gb", 0, 1}};
	struct bh_gi *busy;

	describe(machine, "h100-sxm5-80gb");
	(void) fake_put(machine, "1g.10gb", 0, true, one, 1);
	(void) fake_put(machine, "1g.10gb", 1, true, one, 1);
	busy = fake_put(machine, "3g.40gb", 4, true, three, 1);
	busy->busy = busy->cis[0].busy = true;
	wish(machine, want, rows, BH_ARRAY_SIZE(rows));
}

static void set_up_compute(struct fake_machine *machine, struct bh_gpu_want *want)
{
	static const struct bh_want_row rows[] = {
			{"3g.40gb", 1, 1}, {"3g.40gb", 2, 1}, {"2g.20gb", 1, 2}};

	describe(machine, "h100-sxm5-80gb");
	(void) fake_put(machine, "3g.40gb", 4, true, three, 1);
	wish(machine, want, rows, BH_ARRAY_SIZE(rows));
}

static void set_up_mode_off(struct fake_machine *machine, struct bh_gpu_want *want)
{
	describe(machine, "h100-sxm5-80gb");
	(void) fake_put(machine, "3g.40gb", 0, true, three, 1);
	(void) fake_put(machine, "1g.10gb", 4, true, one, 1);
	want->mig_on = false;
}

static void set_up_beside_foreign(struct fake_machine *machine, struct bh_gpu_want *want)
{
	static const struct bh_want_row rows[] = {{"4g.20gb", 0, 1}, {"1g.5gb", 0, 2}};

	describe(machine, "a100-40gb");
	(void) fake_put(machine, "1g.5gb", 0, true, one, 1);
	(void) fake_put(machine, "2g.10gb", 2, true, NULL, 0);
	(void) fake_put(machine, "1g.5gb", 6, false, one, 1);
	wish(machine, want, rows, BH_ARRAY_SIZE(rows));
}

const struct fake_board fake_boards[] = {
		{"MIG off before, 3g and two 1g", set_up_empty, false},
		{"a layout change beside a busy instance", set_up_beside_busy, true},
		{"compute instances of one and two slices", set_up_compute, false},
		{"MIG off with idle instances", set_up_mode_off, false},
		{"a layout change beside a foreign instance", set_up_beside_foreign, false},
};

const size_t fake_n_boards = BH_ARRAY_SIZE(fake_boards);
