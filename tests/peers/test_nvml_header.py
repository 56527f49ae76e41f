# SPDX-License-Identifier: Apache-2.0
"""Our own words for NVML's interface agree with Debian's nvml.h wherever both know a thing."""
import os
import re
import subprocess

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ABI = os.path.join(ROOT, "src", "abi", "nvml.h")
STRUCT = re.compile(r"typedef\s+struct\s*\w*\s*\{([^{}]*)\}\s*(nvml\w+)\s*;")
FIELD = re.compile(r"(\w+)\s*(?:\[[^\]]*\])*$")


def gcc(folder, *args):
    said = subprocess.run(["gcc", "-D_GNU_SOURCE", *args], cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    assert said.returncode == 0, said.stderr
    return said.stdout


def structs(folder, header, include):
    """{type: [fields]} that a header declares."""
    text = gcc(folder, "-E", "-P", "-I" + include, header)
    return {name: [FIELD.search(part.strip()).group(1) for part in body.split(";") if part.strip()]
            for body, name in STRUCT.findall(text)}


def macros(folder, header, include):
    text = gcc(folder, "-E", "-dM", "-I" + include, header)
    return {name: value for name, value in re.findall(r"^#define (NVML_\w+) (.+)$", text, re.MULTILINE)}


def enumerators(folder, header, include):
    text = gcc(folder, "-E", "-P", "-I" + include, header)
    return set(re.findall(r"\b(NVML_\w+)\s*=", text))


def measure(folder, name, header, include, expressions):
    """The numbers that a program compiled with that header prints for the expressions."""
    source = '#include <stddef.h>\n#include <stdio.h>\n#include "%s"\nint main(void)\n{\n' % header
    source += "".join('\tprintf("%%lld\\n", (long long) (%s));\n' % e for e in expressions) + "\treturn 0;\n}\n"
    (folder / (name + ".c")).write_text(source)
    gcc(folder, "-w", "-I" + include, name + ".c", "-o", name)
    said = subprocess.run([str(folder / name)], capture_output=True, text=True, check=True, timeout=20)
    return dict(zip(expressions, map(int, said.stdout.split())))


@pytest.fixture
def both(nvml_header, tmp_path):
    if not os.path.exists(ABI):
        pytest.skip("this tree has no src/abi/nvml.h")
    return tmp_path, ("ours", ABI, os.path.join(ROOT, "src")), \
        ("theirs", os.path.join(nvml_header, "nvml.h"), nvml_header)


def agree(folder, ours, theirs, expressions):
    mine, other = measure(folder, *ours, expressions), measure(folder, *theirs, expressions)
    different = ["%s: ours %d, theirs %d" % (e, mine[e], other[e]) for e in expressions if mine[e] != other[e]]
    assert not different, "\n".join(different)


def test_every_struct_that_both_know_has_the_same_size_and_offsets(both):
    folder, ours, theirs = both
    mine, other = structs(folder, *ours[1:]), structs(folder, *theirs[1:])
    common = sorted(mine.keys() & other.keys())
    assert len(common) >= 10, "only these were found in both: %s" % common
    fields = {name: [f for f in mine[name] if f in other[name]] for name in common}
    missing = {name: sorted(set(mine[name]) ^ set(other[name])) for name in common if set(mine[name]) != set(other[name])}
    assert not missing, "fields that only one header has: %s" % missing
    agree(folder, ours, theirs, ["sizeof(%s)" % name for name in common] +
          ["offsetof(%s, %s)" % (name, field) for name in common for field in fields[name]] +
          ["sizeof(((%s *) 0)->%s)" % (name, field) for name in common for field in fields[name]])


def test_every_constant_that_both_know_has_the_same_value(both):
    folder, ours, theirs = both
    number = re.compile(r'[^"]*')
    mine = {n for n, value in macros(folder, *ours[1:]).items() if number.fullmatch(value)} | enumerators(folder, *ours[1:])
    other = {n for n, value in macros(folder, *theirs[1:]).items() if number.fullmatch(value)} | enumerators(folder, *theirs[1:])
    # These count what an interface knows, so a newer one has more.
    common = sorted(n for n in mine & other if not n.endswith("_COUNT"))
    assert len(common) >= 40, "only these were found in both: %s" % common
    agree(folder, ours, theirs, common)


def test_every_function_marked_as_checked_by_the_header_has_its_type(both):
    folder, _, (_, header, include) = both
    symbols = os.path.join(ROOT, "src", "abi", "nvml_symbols.h")
    if not os.path.exists(symbols):
        pytest.skip("this tree has no list of symbols")
    with open(symbols, encoding="utf-8") as file:
        named = set(re.findall(r"\bnvml\w+_t\b", file.read()))
    newer = named - set(re.findall(r"\bnvml\w+_t\b", gcc(folder, "-E", "-P", "-I" + include, header)))
    # Types that this header does not know occur in rows that it cannot check; any type will do there.
    source = '#define NVML_NO_UNVERSIONED_FUNC_DEFS\n#include "%s"\n#define BH_ABI_NVML_H\n' % header
    source += "".join("typedef struct bh_newer_%s %s;\n" % (name, name) for name in sorted(newer))
    source += '#include "%s"\n' % symbols
    source += ("#define HEADER(name, params) _Static_assert(__builtin_types_compatible_p("
               "__typeof__(name), nvmlReturn_t params), \"type of \" #name);\n"
               "#define BINDINGS(name, params)\n#define NONE(name, params)\n"
               "#define X(name, need, params, args, out, checked_by) checked_by(name, params)\n"
               "BH_NVML_SYMBOLS(X)\n#undef X\n"
               "#define X(name, need, params, args, out, checked_by) 1 +\n"
               "enum { ROWS = BH_NVML_SYMBOLS(X) 0 };\n_Static_assert(ROWS > 30, \"rows\");\n")
    (folder / "types.c").write_text(source)
    gcc(folder, "-fsyntax-only", "-I" + os.path.join(ROOT, "src"), "-I" + include, "types.c")
