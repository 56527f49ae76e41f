/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/inject_health.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

#include "ctl/ctl.h"
#include "ctl/words.h"
#include "model/events.h"
#include "model/health.h"

#define GI_ID_MAX 14 /* source: the driver's tree of spans has 15 nodes */

/* What the driver adds to the line of an Xid, where a public log or the driver's source shows it. */
static const struct {
	long xid;
	const char *text;
} tails[] = {
		{79, "GPU has fallen off the bus."},
		{94, "Contained: CE User Channel (0x9). RST: No, D-RST: No"},
};

/* As the driver words them in the line of Xid 154, from public logs and lists of what parsers know. */
static const char *const action_words[SIM_RECOVERIES] = {
		[SIM_RECOVERY_NONE] = "None",
		[SIM_RECOVERY_GPU_RESET] = "GPU Reset Required",
		[SIM_RECOVERY_NODE_REBOOT] = "Node Reboot Required",
		[SIM_RECOVERY_DRAIN_P2P] = "Drain P2P",
		[SIM_RECOVERY_DRAIN_AND_RESET] = "Drain and Reset",
};

/* One line, whole: what would not come back as it was given is refused. */
static bool is_line(const char *text)
{
	for (const char *c = text; *c; c += bh_text_utf8_length(c, strlen(c))) {
		if (!bh_text_utf8_length(c, strlen(c)))
			return false;
	}
	for (const char *c = text; *c; c++) {
		if ((unsigned char) *c < ' ' || *c == 0x7F)
			return false;
	}
	return text[0] && strlen(text) < 800;
}

static int refuse_line(const char *key)
{
	return ctl_complain(CTL_USAGE, "%s=TEXT is one line of at most 799 bytes", key);
}

/* "0000:17:00 GPU-I:05 GPU-CI:00": the GPU and what of it is affected. Source: driver. */
static void where(const struct sim_tx *tx, uint32_t gpu, long gi, long ci, char *text, size_t size)
{
	const struct sim_identity *id = &tx->state->gpus[gpu].identity;
	char in_gi[24] = "", in_ci[24] = "";

	if (gi >= 0)
		(void) snprintf(in_gi, sizeof(in_gi), " GPU-I:%02ld", gi);
	if (ci >= 0)
		(void) snprintf(in_ci, sizeof(in_ci), " GPU-CI:%02ld", ci);
	(void) snprintf(text, size, "%04x:%02x:%02x%s%s", id->pci_domain, id->pci_bus,
			id->pci_device, in_gi, in_ci);
}

int ctl_inject_xid(struct sim_tx *tx, struct words *w)
{
	const char *text = ctl_words_value(w, "text"), *name = ctl_words_value(w, "name");
	char place[80], who[24] = "'<unknown>'";
	long code, gi, ci, pid;
	uint32_t gpu;

	if (!ctl_words_gpu(tx, w, &gpu))
		return CTL_USAGE;
	if (!ctl_words_number(w, "code", 0, &code) || code < 1)
		return ctl_complain(CTL_USAGE, "code=C is the Xid, from 1");
	if (!ctl_words_number(w, "gi", -1, &gi) || gi > GI_ID_MAX ||
			!ctl_words_number(w, "ci", -1, &ci) || ci >= SIM_CIS_MAX)
		return ctl_complain(CTL_USAGE, "gi=ID is 0 to %d, ci=ID 0 to %d", GI_ID_MAX,
				SIM_CIS_MAX - 1);
	if (!ctl_words_number(w, "pid", 0, &pid))
		return ctl_complain(CTL_USAGE, "pid=N takes a number");
	if ((text && !is_line(text)) || (name && !is_line(name)))
		return refuse_line(text && !is_line(text) ? "text" : "name");
	for (size_t i = 0; !text && i < BH_ARRAY_SIZE(tails); i++)
		text = tails[i].xid == code ? tails[i].text : NULL;
	if (sim_health_xid(tx, gpu, (uint32_t) code, gi < 0 ? SIM_NO_INSTANCE : (uint32_t) gi,
			    ci < 0 ? SIM_NO_INSTANCE : (uint32_t) ci) != SIM_OK)
		return ctl_complain(CTL_USAGE, "ci=ID is within gi=ID, and both need MIG on GPU %u",
				gpu);
	where(tx, gpu, gi, ci, place, sizeof(place));
	if (pid)
		(void) snprintf(who, sizeof(who), "%ld", pid);
	ctl_words_log(w, "NVRM: Xid (PCI:%s): %ld, pid=%s, name=%s%s%s", place, code, who,
			name ? name : "<unknown>", text ? ", " : "", text ? text : "");
	return CTL_DONE;
}

int ctl_inject_log(struct sim_tx *tx, struct words *w)
{
	const char *text = ctl_words_value(w, "text");

	if (!text || !is_line(text))
		return refuse_line("text");
	ctl_words_log(w, "%s", text);
	return CTL_DONE;
}

/* 1, or 0 which is as if it were not there. */
static bool flag_of(struct words *w, const char *key, bool *ret_flag)
{
	long number;

	if (!ctl_words_number(w, key, 0, &number) || number > 1)
		return false;
	*ret_flag = number;
	return true;
}

int ctl_inject_remap(struct sim_tx *tx, struct words *w)
{
	bool pending, failure, clear;
	uint32_t gpu;

	if (!ctl_words_gpu(tx, w, &gpu))
		return CTL_USAGE;
	clear = ctl_words_flag(w, "clear");
	if (!flag_of(w, "pending", &pending) || !flag_of(w, "failure", &failure) ||
			clear == (pending || failure))
		return ctl_complain(CTL_USAGE, "pending=1 and failure=1, or clear");
	if (clear) {
		sim_health_remap_clear(tx, gpu);
		return CTL_DONE;
	}
	if (sim_health_remap(tx, gpu, pending, failure) != SIM_OK)
		return ctl_complain(CTL_USAGE, "GPU %u does not remap rows", gpu);
	return CTL_DONE;
}

int ctl_inject_ecc(struct sim_tx *tx, struct words *w)
{
	const char *mode = ctl_words_value(w, "pending");
	long corrected, uncorrected;
	uint32_t gpu;

	if (!ctl_words_gpu(tx, w, &gpu))
		return CTL_USAGE;
	if (!ctl_words_number(w, "corrected", 0, &corrected) ||
			!ctl_words_number(w, "uncorrected", 0, &uncorrected) ||
			(mode && strcmp(mode, "on") != 0 && strcmp(mode, "off") != 0) ||
			(!corrected && !uncorrected && !mode))
		return ctl_complain(CTL_USAGE,
				"corrected=N and uncorrected=N count more errors; pending=on|off");
	if ((corrected || uncorrected) && sim_health_errors(tx, gpu, (uint64_t) corrected,
							  (uint64_t) uncorrected) != SIM_OK)
		return ctl_complain(CTL_USAGE, "ECC is off on GPU %u: nothing is counted", gpu);
	if (mode)
		sim_health_set_ecc(tx, gpu, strcmp(mode, "on") == 0);
	return CTL_DONE;
}

int ctl_inject_recovery(struct sim_tx *tx, struct words *w)
{
	const char *word = ctl_words_value(w, "action");
	uint32_t gpu, action = 0;
	enum sim_recovery old;
	char place[80];

	if (!ctl_words_gpu(tx, w, &gpu))
		return CTL_USAGE;
	while (word && action < SIM_RECOVERIES && strcmp(sim_recoveries[action], word) != 0)
		action++;
	if (!word || action == SIM_RECOVERIES)
		return ctl_complain(CTL_USAGE,
				"action=none|gpu-reset|node-reboot|drain-p2p|drain-and-reset");
	sim_health_set_recovery(tx, gpu, action, &old);
	if (old == action)
		return CTL_DONE;
	where(tx, gpu, -1, -1, place, sizeof(place));
	ctl_words_log(w,
			"NVRM: Xid (PCI:%s): 154, GPU recovery action changed from 0x%x (%s) to "
			"0x%x (%s)",
			place, old, action_words[old], action, action_words[action]);
	return CTL_DONE;
}
