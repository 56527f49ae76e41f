# SPDX-License-Identifier: Apache-2.0
"""The simulated NVML library under ThreadSanitizer: threads of one process use it all at once."""
import json
import os
import subprocess

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
TSAN = ("cc", "-fsanitize=thread", "-O1", "-g", "-std=gnu11", "-D_GNU_SOURCE", "-fvisibility=hidden", "-pthread")
TARGETS = ("nvidia-ml", "sim_model", "base")


def compile_with_tsan(*args):
    done = subprocess.run([*TSAN, *map(str, args)], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr


def tsan_or_skip(folder):
    """ThreadSanitizer compiles, and what it compiled runs: it does not on every kernel."""
    source, program = folder / "empty.c", folder / "empty"
    source.write_text("int main(void) { return 0; }\n")
    for command in ([*TSAN, source, "-o", program], [program]):
        try:
            done = subprocess.run([str(word) for word in command], capture_output=True, check=False, timeout=60)
        except FileNotFoundError:
            pytest.skip("no compiler with ThreadSanitizer here")
        if done.returncode:
            pytest.skip("no compiler with ThreadSanitizer here")


def sources_of(build):
    """Of the library and what is linked into it, as the build has them."""
    said = subprocess.run(["meson", "introspect", "--targets", build.folder], capture_output=True, check=True)
    found = []
    for target in json.loads(said.stdout):
        if target["name"] in TARGETS:
            for part in target["target_sources"]:
                found += part.get("sources", []) + part.get("generated_sources", [])
    names = [os.path.basename(name) for name in found]
    assert {"gate.c", "state.c", "boards.c", "error.c"} <= set(names), names
    return [name for name in found if name.endswith(".c")]


@pytest.mark.heavy
def test_threads_of_one_process_use_the_library_at_once_without_a_race(build, node, tmp_path):
    tsan_or_skip(tmp_path)
    machine = node("h100x2")
    library, program = os.path.join(machine.dir, "lib", "libnvidia-ml.so.1"), tmp_path / "threads"
    os.unlink(library)
    includes = ["-I" + os.path.join(ROOT, "src"), "-I" + os.path.join(ROOT, "sim")]
    compile_with_tsan("-shared", "-fPIC", *includes, *sources_of(build), "-o", library, "-ljansson", "-lyaml", "-ldl",
                      "-Wl,--version-script=" + os.path.join(ROOT, "sim", "nvml", "nvml.map"))
    compile_with_tsan(*includes, os.path.join(HERE, "threads.c"), "-o", program, "-ldl")
    done = subprocess.run([program, library, "8", "400"], capture_output=True, text=True, check=False, timeout=240,
                          env=dict(os.environ, TSAN_OPTIONS="halt_on_error=1 exitcode=66"))
    assert "ThreadSanitizer" not in done.stderr, done.stderr[-6000:]
    assert done.returncode == 0, done.stdout + done.stderr
    print(done.stdout.strip())
    assert machine.bulkhead("sim", "check", machine.dir).out == "sound\n"
    assert machine.show()["clients"] == []
