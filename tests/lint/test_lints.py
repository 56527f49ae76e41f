# SPDX-License-Identifier: Apache-2.0
"""Each lint passes on this tree, and is red on a sample of what it is there to find."""
import json
import os
import subprocess

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LINTS = ["includes", "banned", "format", "contracts", "function-length", "shell", "analyze", "spelling"]


def lint(name, root=ROOT):
    return subprocess.run([os.path.join(ROOT, "scripts", "lint-" + name), str(root)], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=300, check=False)


@pytest.fixture
def tree(tmp_path):
    """A folder to fill: tree(path=text, ...) writes the files and gives the folder."""
    def fill(files):
        for path, text in files.items():
            target = tmp_path / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
        return tmp_path
    return fill


def red(name, root, place, *words):
    """The lint complains of that place, in these words, and of nothing else."""
    said = lint(name, root)
    lines = said.stdout.splitlines()
    assert said.returncode == 1, said.stdout + said.stderr
    assert len(lines) == 1, said.stdout
    assert lines[0].startswith(place + ": "), said.stdout
    for word in words:
        assert word in lines[0], said.stdout


def green(name, root):
    said = lint(name, root)
    assert (said.returncode, said.stdout) == (0, ""), said.stdout + said.stderr


@pytest.mark.parametrize("name", LINTS)
def test_the_tree_passes_the_lint(name):
    said = lint(name)
    if said.returncode == 77:
        pytest.skip(said.stdout.strip())
    assert said.returncode == 0, "\n" + said.stdout + said.stderr


def test_there_is_a_test_for_every_lint():
    there = {name[5:] for name in os.listdir(os.path.join(ROOT, "scripts")) if name.startswith("lint-")}
    assert there == set(LINTS)


@pytest.mark.parametrize("path, include, word", [
    ("src/plan/a.c", "ledger/journal.h", "plan may not include"),
    ("src/gpu/a.c", "abi/nvml.h", "gpu may not include"),
    ("src/cli/a.c", "ledger/journal.h", "cli may not include"),  # node may; rights are not inherited
    ("src/driver/a.c", "sim/model/state.h", "the product stands without sim"),
    ("sim/nvml/a.c", "plan/planner.h", "sim may not include"),
    ("adapters/slurm/a.c", "gpu/inventory.h", "adapters may not include"),
    ("src/plan/a.c", "step.h", "names no room"),
])
def test_a_forbidden_include_is_found(tree, path, include, word):
    red("includes", tree({path: '/* one */\n#include "%s"\n' % include}), path + ":2", word)


@pytest.mark.parametrize("path, include", [
    ("src/plan/a.c", "plan/step.h"), ("src/plan/a.c", "policy/quota.h"), ("src/worker/a.c", "clear/clear.h"),
    ("sim/nvml/a.c", "sim/model/state.h"), ("sim/nvml/a.c", "gpu/catalogue.h"), ("sim/nvml/a.c", "names.h"),
    ("src/base/a.c", "linux/bpf.h"), ("tests/unit/a.c", "sim/model/state.h"),
])
def test_a_rightful_include_is_left_alone(tree, path, include):
    green("includes", tree({path: '#include "%s"\n' % include if include[0] != "l" else "#include <%s>\n" % include}))


def test_an_include_in_a_comment_is_none(tree):
    green("includes", tree({"src/gpu/a.c": '/*\n#include "plan/step.h"\n*/\n// BULKHEAD_SIM simctl\n'}))


@pytest.mark.parametrize("line", [
    'const char *x = getenv("BULKHEAD_SIM");', 'const char *x = "simctl";', 'const char *x = "%s/state";',
])
def test_product_code_that_asks_the_simulator_is_found(tree, line):
    root = tree({"src/driver/a.c": "int a;\n" + line + "\n", "src/cli/sim.c": 'const char *x = "simctl";\n'})
    red("includes", root, "src/driver/a.c:2", "the product")


def test_a_folder_that_is_no_room_is_found(tree):
    red("includes", tree({"src/misc/a.c": "int a;\n"}), "src/misc/a.c:1", "no room")


@pytest.mark.parametrize("call", [
    "strcpy(a, b)", "strcat(a, b)", 'sprintf(a, "x")', "vsprintf(a, b, c)", "atoi(a)", "atol (a)", "system(a)",
    'popen(a, "r")', "gets(a)", "strtok(a, b)", "alloca(3)",
])
def test_a_banned_function_is_found(tree, call):
    red("banned", tree({"src/base/a.c": "void f(void)\n{\n\t%s;\n}\n" % call}), "src/base/a.c:3", "is banned")


@pytest.mark.parametrize("room", ["policy", "plan", "lease"])
@pytest.mark.parametrize("call", [
    "x = time(NULL)", "clock_gettime(0, &t)", "return rand()", "fd = open(p, 0)", "n = read(0, b, 1)",
    'return fopen(p, "r")', 'return getenv("X")', 'printf("x")',
])
def test_an_impure_call_in_a_pure_room_is_found(tree, room, call):
    path = "src/%s/a.c" % room
    red("banned", tree({path: "int f(void)\n{\n\t%s;\n}\n" % call}), path + ":3", "in src/" + room)


def test_what_is_allowed_is_left_alone(tree):
    green("banned", tree({
        "src/apply/a.c": "int f(void)\n{\n\treturn time(NULL) + rand();\n}\n",
        "src/plan/a.c": 'int f(void)\n{\n\t/* time(NULL) */\n\tx = "rand()";\n\tdrv->open(1);\n\topen_tenant(2);\n'
                        "\tsnprintf(a, 2, b);\n\treturn is_open(3);\n}\n",
        "src/base/a.h": "int bh_atoi_like(void);\nint my_strcpy(void);\n"}))


@pytest.mark.parametrize("mark", ["TO" "DO", "FIX" "ME", "X" "XX"])
@pytest.mark.parametrize("path", ["src/base/a.c", "tests/scenario/test_a.py", "scripts/do", "sim/nvml/a.map",
                                  "adapters/slurm/prolog", "docs/a.md", ".ci/run"])
def test_a_mark_left_behind_is_found(tree, mark, path):
    red("banned", tree({path: "x = 1\n# or /* %s: later */\n" % mark}), path + ":2", mark)


def test_a_temporary_name_is_no_mark(tree):
    green("banned", tree({"src/base/a.c": 'const char t[] = "/tmp/aXXXXXX";\n'}))


def test_a_file_laid_out_otherwise_is_found(tree):
    with open(os.path.join(ROOT, ".clang-format"), encoding="utf-8") as file:
        style = file.read()
    root = tree({".clang-format": style, "src/base/a.c": "int a;\nint  b;\n"})
    said = lint("format", root)
    if said.returncode == 77:
        pytest.skip(said.stdout.strip())
    assert said.returncode == 1 and said.stdout.startswith("src/base/a.c:2: "), said.stdout + said.stderr
    (root / "src/base/a.c").write_text("int a;\nint b;\n")
    green("format", root)


CONTRACT = "/**\n * %s() - do it\n * @a: a number\n */\n"


@pytest.mark.parametrize("header", [
    "int bh_do(int a);\n",
    "/* do it */\nint bh_do(int a);\n",
    CONTRACT % "bh_undo" + "int bh_do(int a);\n",
    CONTRACT % "bh_do" + "\nint between;\n\nint bh_do(int a);\n",
    "struct bh_x *bh_do(int a, int (*call)(int b),\n\t\tstruct bh_error *err) BH_PRINTF(1, 2);\n",
    "__attribute__((cold)) void bh_do(void);\n",
    "static inline void f(void)\n{\n\tg();\n}\nvoid bh_do(void);\n",
])
def test_a_function_without_contract_is_found(tree, header):
    text = "#ifndef A_H\n#define A_H\n\n" + header + "\n#endif\n"
    place = text[:text.index("bh_do(" if "bh_undo" not in header and "- do it" not in header else "int bh_do(")]
    red("contracts", tree({"src/base/a.h": text}), "src/base/a.h:%d" % (place.count("\n") + 1), "bh_do() has no contract")


def test_functions_with_contracts_and_what_needs_none_are_left_alone(tree):
    green("contracts", tree({
        "src/base/a.h": "#define CALL(x) \\\n\tdo_it(x)\nstruct bh_x;\nstruct bh_y {\n\tint (*call)(int);\n};\n" +
                        "extern const int bh_table[];\nextern int (*bh_hook)(int);\ntypedef int (*bh_f)(int);\n" +
                        "enum bh_e { BH_A = (1), BH_B };\nstatic const char *const names[] = {\"a(b)\"};\n" +
                        CONTRACT % "bh_do" + "int bh_do(int a) BH_MUST_CHECK;\n" +
                        CONTRACT % "bh_done" + "const struct bh_x *bh_done(\n\t\tint a);\n" +
                        "static inline int bh_one(void)\n{\n\treturn two(1);\n}\n",
        "src/base/a.c": "int bh_no_header(void);\n",
        "src/abi/nvml.h": "nvmlReturn_t nvmlInit_v2(void);\nCUresult cuInit(unsigned int flags);\n"}))


def long_function(lines, comment=""):
    return "int a;\n\nstatic int f(int b,\n\t\tint c)\n{\n" + comment + "\tg();\n" * (lines - 4 - bool(comment)) + "}\n"


def test_a_long_function_is_found(tree):
    red("function-length", tree({"src/base/a.c": long_function(121)}), "src/base/a.c:3", "f() is 121 lines long")


def test_a_function_at_the_limit_and_a_marked_table_are_left_alone(tree):
    green("function-length", tree({
        "src/base/a.c": long_function(120), "src/base/b.c": long_function(300, "\t/* lint: table */\n"),
        "src/base/c.c": "static const int t[] = {\n" + "\t1,\n" * 300 + "};\n"}))


def test_a_broken_script_is_found(tree):
    said = lint("shell", tree({"scripts/a": "#!/usr/bin/python3\nif:\n"}))
    assert said.returncode == 1 and said.stdout.startswith("scripts/a:2: "), said.stdout + said.stderr


def analyze(tree, files):
    """The complaints about a tree that has these files and a compilation database of them."""
    root = tree(files)
    database = [{"directory": str(root / "build"), "file": "../" + path, "command": "cc -I../src -c ../" + path} for path in files]
    root = tree({"build/compile_commands.json": json.dumps(database)})
    said = lint("analyze", root)
    if said.returncode == 77:
        pytest.skip(said.stdout.strip())
    return said


@pytest.mark.parametrize("text, name", [
    ("int f(int n)\n{\n\tint a[4] = {0};\n\treturn a[4] + n;\n}\n", "cppcheck arrayIndexOutOfBounds"),
    ("int f(int *p)\n{\n\tif (p)\n\t\t*p = 1;\n\treturn *p;\n}\n", "cppcheck nullPointerRedundantCheck"),
    ("#include <string.h>\nint g(const char *a)\n{\n\treturn strcmp(a, \"x\") == 2;\n}\n",
     "clang-tidy bugprone-suspicious-string-compare"),
    ("#include <stddef.h>\nint f(size_t n)\n{\n\tint s = 0;\n\tfor (short i = 0; i < n; i++)\n\t\ts++;\n"
     "\treturn s;\n}\n", "clang-tidy bugprone-too-small-loop-variable"),
])
@pytest.mark.parametrize("path", ["src/base/a.c", "sim/nvml/a.c"])
def test_what_the_analysers_find_is_told(tree, path, text, name):
    said = analyze(tree, {path: text})
    assert said.returncode == 1 and said.stdout.startswith(path + ":") and name in said.stdout, said.stdout + said.stderr


def test_the_analysers_leave_sound_code_and_tests_alone(tree):
    said = analyze(tree, {"src/base/a.c": "int f(int n)\n{\n\treturn n + 1;\n}\n",
                          "tests/unit/a.c": "int f(void)\n{\n\tint a[4] = {0};\n\treturn a[4];\n}\n"})
    assert (said.returncode, said.stdout) == (0, ""), said.stdout + said.stderr


def test_without_a_build_the_analysers_say_that_they_cannot_judge(tree):
    said = lint("analyze", tree({"src/base/a.c": "int a;\n"}))
    assert said.returncode == 77 and "build first" in said.stdout


@pytest.mark.parametrize("path", ["src/base/a.c", "docs/a.md", "scripts/a"])
def test_a_misspelt_word_is_found(tree, path):
    root = tree({path: "x\n/* it was rec" + "ieved */\n"})
    said = lint("spelling", root)
    if said.returncode == 77:
        pytest.skip(said.stdout.strip())
    red("spelling", root, path + ":2", "received")
