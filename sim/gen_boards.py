#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Turns data/gpu-models/*.json into the simulator's own table of boards (C).

The simulator reads the board files itself, literally, and shares no table with the product, so that
it can contradict it. Where a file is silent, the rules below fill in and the row is marked assumed;
a board whose silence cannot be filled is kept with the reason why it is refused.

usage: gen_boards.py OUTPUT FILE...
"""
import json
import re
import sys

# Compute slices of a full compute instance -> its enum (public header); the id equals the enum on
# every listing seen.
CI_ENUM = {1: 0, 2: 1, 3: 2, 4: 3, 7: 4, 8: 5, 6: 6}
REV1 = 7

# Which smaller compute instances an instance of N slices offers. Listed for A100: 7 offers 1, 2, 3
# and 4; 4 offers 1 and 2; 3 offers 1 and 2; 2 offers 1. Assumed to be alike elsewhere.
SMALLER = {1: [], 2: [1], 3: [1, 2], 4: [1, 2], 7: [1, 2, 3, 4]}

# Boards without MIG have no file. Name and device number as commonly listed; assumed.
PLAIN = [
    dict(slug='l40s-48gb', name='NVIDIA L40S', arch='ADA', cc=(8, 9), pci=0x26B9, total=46068, sm=142),
    dict(slug='t4-16gb', name='Tesla T4', arch='TURING', cc=(7, 5), pci=0x1EB8, total=15360, sm=40),
]


def align_of(slices):
    step = 1
    while step < slices:
        step *= 2
    return step


def has_distinct_mini_quarter(board):
    """True where the double-memory 1g is a compute class of its own: its SM count differs."""
    by_name = {p['nvml_enum']: p for p in board['gi_profiles']}
    plain, double = by_name.get(0), by_name.get(9)
    return bool(plain and double and plain['sm'] and double['sm'] and plain['sm'] != double['sm'])


def places_of(row, slices, distinct):
    """Contiguous runs; start aligned to the size (rounded up to a power of two) where distinct."""
    size = row['slices']
    if row['enum'] == REV1 and slices > 1:
        # A mini-quarter class in a larger instance leaves no room for an eighth beside it in its
        # quarter: it covers two slices.
        size = 2
    step = align_of(size) if distinct else 1
    return [(s, size) for s in range(0, slices - size + 1, step)]


def compute_rows(board, profile, distinct):
    slices, sm = profile['slice_count'], profile['sm']
    rows = {}
    for c in board['ci_profiles']:
        if c['gi_profile'] != profile['name'] or c['nvml_enum'] is None or c['profile_id'] is None:
            continue
        rows[c['nvml_enum']] = dict(
            enum=c['nvml_enum'], id=c['profile_id'], max=c['max_instances'], slices=c['slice_count'],
            sm=c['sm'], places=c['placements'] and [(p['start'], p['size']) for p in c['placements']],
            full=c['is_default_full'], assumed=False,
            shared=[c['shared_copy_engines'], c['shared_decoders'], None, c['shared_jpeg'],
                    c['shared_ofa']])

    def add(enum, count, full):
        rows.setdefault(enum, dict(enum=enum, id=enum, max=None, slices=count, sm=None, places=None,
                                   full=full, assumed=True, shared=[None] * 5))

    if not any(r['full'] for r in rows.values()):
        double_on_hopper = profile['nvml_enum'] == 9 and 'Hopper' in board['architecture']
        add(REV1 if double_on_hopper else CI_ENUM[slices], slices, True)
    for count in SMALLER[slices]:
        add(CI_ENUM[count], count, False)
    out = []
    for row in sorted(rows.values(), key=lambda r: r['enum']):
        part = sm // slices // 2 * 2
        if row['sm'] is None:
            row['sm'], row['assumed'] = (sm if row['full'] else part * row['slices']), True
        if row['max'] is None:
            row['max'], row['assumed'] = slices // row['slices'], True
        if row['places'] is None:
            row['places'], row['assumed'] = places_of(row, slices, distinct), True
        whole = [profile[k] for k in ('copy_engines', 'decoders', 'encoders', 'jpeg', 'ofa')]
        row['shared'] = [(a if a is not None else b) or 0 for a, b in zip(row['shared'], whole)]
        out.append(row)
    return out


def memory_at(profile, start, size):
    """An instance may have more than its profile says: only where a source names the placement."""
    for other in profile['memory_mib_alternatives']:
        named = re.search(r'instance at (\d+):(\d+)', other.get('when') or '')
        if named and (int(named.group(1)), int(named.group(2))) == (start, size):
            return other['mib']
    return profile['memory_mib']


def reason_to_refuse(board):
    for p in board['gi_profiles']:
        for key, what in (('profile_id', 'profile id'), ('placements', 'placements'),
                          ('memory_mib', 'memory'), ('sm', 'SM count')):
            if not p[key] and p[key] != 0:
                return f"nobody has published the {what} of its profile {p['name']}"
    if not board['placement_units']:
        return 'nobody has published its placement units'
    if board['memory_total_mib']['value'] is None and \
            not any(p['memory_fraction'] == 'full' for p in board['gi_profiles']):
        return 'nobody has published its total memory nor its largest profile'
    return None


def quote(text):
    return json.dumps(text, ensure_ascii=True)


def arch_of(text):
    for word in ('Ampere', 'Hopper', 'Blackwell', 'Ada', 'Turing'):
        if word in text:
            return word.upper()
    return 'UNKNOWN'


def board_row(board):
    refused = reason_to_refuse(board)
    gis = []
    distinct = has_distinct_mini_quarter(board)
    assumed = 0
    profiles = [] if refused else board['gi_profiles']
    for p in profiles:
        rows = compute_rows(board, p, distinct)
        assumed += sum(r['assumed'] for r in rows)
        assumed += any(p[k] is None for k in ('copy_engines', 'decoders', 'encoders', 'jpeg', 'ofa'))
        cis = ''.join(
            f"{{.number = {r['enum']}, .id = {r['id']}, .max_instances = {r['max']}, .slices = {r['slices']}, "
            f".sm = {r['sm']}, .engines = {{{', '.join(map(str, r['shared']))}}}, "
            f".places = {{{', '.join('{%d, %d}' % place for place in r['places'])}}}, "
            f".n_places = {len(r['places'])}, .assumed = {'true' if r['assumed'] else 'false'}}},\n\t\t" for r in rows)
        engines = ', '.join(str(p[k] or 0) for k in
                            ('copy_engines', 'decoders', 'encoders', 'jpeg', 'ofa'))
        places = ', '.join(f"{{{q['start']}, {q['size']}, {q['gi_id']}, "
                           f"{memory_at(p, q['start'], q['size'])}}}" for q in p['placements'])
        media = ('SIM_MEDIA_ALL' if p['name'].endswith('+me.all') else
                 'SIM_MEDIA_EXTRA' if p['name'].endswith('+me') else
                 'SIM_MEDIA_NONE' if p['name'].endswith('-me') else 'SIM_MEDIA_PLAIN')
        gis.append(f"\t\t{{.name = {quote(p['name'])}, .number = {p['nvml_enum']}, "
                   f".id = {p['profile_id']}, .max_instances = {p['max_instances']}, "
                   f".slices = {p['slice_count']}, .memory_mib = {p['memory_mib']}, .sm = {p['sm']}, "
                   f".engines = {{{engines}}}, .p2p = {p['p2p_supported'] or 0}, "
                   f".gfx = {p['capability_gfx'] or 0}, .media = {media}, .places = {{{places}}}, "
                   f".n_places = {len(p['placements'])}, .cis = {{\n\t\t{cis}}}, .n_cis = {len(rows)}}},")
    total = board['memory_total_mib']['value']
    if total is None and not refused:
        assumed += 1
        total = max(-(-p['memory_mib'] // 1024) * 1024 for p in profiles)
    name = board['nvml_names'][0]['name'] if board['nvml_names'] else 'NVIDIA ' + board['title']
    if not board['nvml_names']:
        assumed += 1
    mode, newer = board['mig_mode'], arch_of(board['architecture']) != 'AMPERE'

    def flag(key, by_architecture):
        value = mode.get(key)
        return 'true' if (by_architecture if value is None else value) else 'false'

    major, minor = (board['compute_capability'] or '0.0').split('.')
    devices = board['pci_device_ids']
    return (f"\t{{.slug = {quote(board['slug'])}, .name = {quote(name)}, "
            f".architecture = SIM_{arch_of(board['architecture'])}, .cc_major = {major}, "
            f".cc_minor = {minor}, .pci_device = {devices[0]['device'] if devices else 0}, "
            f".memory_mib = {total or 0}, .sm = {board['sm_total']['value'] or 0}, "
            f".slices = {board['compute_slices']}, .units = {board['placement_units'] or 0}, "
            f".mig_capable = true, .enable_needs_reset = {flag('enable_needs_gpu_reset', not newer)}, "
            f".mode_survives_reboot = {flag('mode_survives_reboot', not newer)}, "
            f".mode_survives_reload = {flag('mode_survives_module_reload', not newer)}, "
            f".tree = true, .refused = {quote(refused or '')}, .assumed = {assumed}, "
            f".gis = {{\n{chr(10).join(gis)}}}, .n_gis = {len(gis)}}},")


def main():
    output, files = sys.argv[1], sorted(sys.argv[2:])
    out = ['/* Generated by gen_boards.py from data/gpu-models; not to be edited. */',
           '#include "model/board.h"', '', '#include <stddef.h>', '',
           '#define SIM_COUNT(a) (sizeof(a) / sizeof((a)[0]))', '']
    rows = []
    for path in files:
        with open(path, encoding='utf-8') as f:
            board = json.load(f)
        if board.get('schema') == 'gpu-model/1':
            rows.append(board_row(board))
    for p in PLAIN:
        rows.append(f"\t{{.slug = {quote(p['slug'])}, .name = {quote(p['name'])}, "
                    f".architecture = SIM_{p['arch']}, .cc_major = {p['cc'][0]}, "
                    f".cc_minor = {p['cc'][1]}, .pci_device = {p['pci']}, .memory_mib = {p['total']}, "
                    f".sm = {p['sm']}, .mig_capable = false, .assumed = 1}},")
    out += ['const struct sim_board sim_boards[] = {'] + rows + \
           ['};', 'const size_t sim_n_boards = SIM_COUNT(sim_boards);', '']
    with open(output, 'w', encoding='utf-8') as f:
        f.write('\n'.join(out))


if __name__ == '__main__':
    main()
