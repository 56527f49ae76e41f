# SPDX-License-Identifier: Apache-2.0
"""What people see: colours and pictures on a terminal, plain whole lines in pipes, nothing wider than the window."""
import fcntl
import os
import pty
import re
import shlex
import shutil
import struct
import subprocess
import termios
import time

import pytest

from conftest import ROOT

EXAMPLE = os.path.join(ROOT, "examples", "mig-config.yaml")
ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
RED, GREEN, YELLOW, MAGENTA = (r"\x1b\[(?:\d+;)*%dm" % n for n in (31, 32, 33, 35))


def on_terminal(bulkhead, columns, *args, **env):
    """What a command writes to a terminal of this width (its output alone, not the screen)."""
    env = dict(bulkhead.env, **{"TERM": "xterm", **env})
    for unwanted in ("COLUMNS", "NO_COLOR"):
        if unwanted not in env or unwanted in os.environ and env[unwanted] == os.environ[unwanted]:
            env.pop(unwanted, None)
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    with subprocess.Popen([bulkhead.program, *map(str, args)], stdin=slave, stdout=slave, stderr=slave, env=env) as child:
        os.close(slave)
        said = b""
        while True:
            try:
                part = os.read(master, 65536)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            said += part
        child.wait(timeout=60)
    os.close(master)
    return said.decode().replace("\r\n", "\n")


def plain(text):
    return ESCAPE.sub("", text)


def widest(text):
    return max(len(line) for line in plain(text).split("\n"))


@pytest.fixture
def board(bulkhead, node, tmp_path):
    """An H100 with every state at once: busy, idle, not ours, free; and one unit out of reach."""
    machine = node("h100x1")
    config = tmp_path / "l.yaml"
    config.write_text("version: v1\nmig-configs:\n"
                      "  first: [{devices: all, mig-enabled: true, mig-devices: {1g.10gb: 1}}]\n"
                      "  other: [{devices: all, mig-enabled: true, mig-devices: {3g.40gb: 1, 1g.10gb: 1}}]\n")
    bulkhead("apply", "-f", config, "--select", "other", env={"BULKHEAD_STATE": str(tmp_path / "others")})
    bulkhead("apply", "-f", config, "--select", "first")
    ours = [i for i in bulkhead("inventory", "--json").json["gpus"][0]["instances"] if not i["foreign"]]
    assert len(ours) == 1
    (small,) = [i for i in bulkhead("inventory", "--json").json["gpus"][0]["instances"]
                if i["foreign"] and i["profile"] == "1g.10gb"]
    machine.inject("busy", "gpu=0", "start=%d" % small["start"], "pid=4242")
    return config


def marks(text):
    """The cells of the first picture, without colours and padding."""
    line = next(line for line in plain(text).split("\n") if line.startswith("  |"))
    return [cell.strip() for cell in line.strip(" |").split("|")]


def test_every_state_has_its_mark_and_on_a_terminal_its_colour(bulkhead, board):
    piped = bulkhead("status").out
    cells = marks(piped)
    assert {"*!1g.10g", "!3g.40gb", "1g.10gb", "."} <= set(cells), cells
    shown = on_terminal(bulkhead, 80, "status")
    assert marks(shown) == cells
    assert re.search(r"\|" + MAGENTA + r"\*!1g", shown) and re.search(r"\|" + GREEN + "1g.10gb", shown)
    assert re.search(r"\|\x1b\[2m\.", shown)


def test_an_instance_of_ours_in_use_is_yellow_and_a_unit_out_of_reach_is_red(bulkhead, node, tmp_path):
    machine = node("h100x1")
    bulkhead("apply", "-f", EXAMPLE, "--select", "balanced")
    (big,) = [i for i in bulkhead("inventory", "--json").json["gpus"][0]["instances"] if i["profile"] == "3g.40gb"]
    machine.inject("busy", "gpu=0", "start=%d" % big["start"], "pid=1")
    assert re.search(r"\|" + YELLOW + r"\*3g\.40gb", on_terminal(bulkhead, 80, "status"))
    config = tmp_path / "l.yaml"
    config.write_text("version: v1\nmig-configs:\n"
                      "  seven: [{devices: all, mig-enabled: true, mig-devices: {1g.10gb: 7}}]\n")
    machine.inject("clear")
    machine.inject("release", "gpu=0", "start=%d" % big["start"], exit=None)
    bulkhead("apply", "-f", config)
    shown = on_terminal(bulkhead, 80, "status")
    assert marks(shown)[-1] == "x" and re.search(r"\|" + RED + "x", shown)


@pytest.mark.parametrize("columns", [40, 57, 80, 200])
@pytest.mark.parametrize("command", [["status"], ["inventory"], ["profiles"], ["help"], ["help", "plan"],
                                     ["profiles", "--model", "rtx-pro-6000-blackwell-96gb"], ["plan", "PLAN"],
                                     ["plan", "-f", "no-such-file-but-with-a-name-that-is-rather-long.yaml"]])
def test_nothing_is_wider_than_the_terminal_and_no_mark_is_lost(command, columns, bulkhead, board):
    args = ["plan", "-f", board, "--select", "first"] if command == ["plan", "PLAN"] else command
    shown = on_terminal(bulkhead, columns, *args)
    assert shown.strip() and widest(shown) <= columns, shown
    if command[0] in ("status", "inventory", "plan") and "-f" not in command:
        cells = marks(shown)
        assert [cell[:2] for cell in cells if cell.startswith("*")] == ["*!"], cells
        assert sum(cell.startswith("!") for cell in cells) == 1 and "." in cells, cells


def test_a_board_of_twelve_units_keeps_its_marks_in_forty_columns(bulkhead, node, tmp_path):
    machine = node("rtxpro6000x1")
    config = tmp_path / "l.yaml"
    config.write_text("version: v1\nmig-configs:\n"
                      "  four: [{devices: all, mig-enabled: true, mig-devices: {1g.24gb: 3}}]\n")
    bulkhead("apply", "-f", config)
    machine.inject("busy", "gpu=0", "start=0", "pid=1")
    shown = on_terminal(bulkhead, 40, "status")
    assert widest(shown) <= 40 and [cell[:1] for cell in marks(shown)] == ["*", "1", "1", ".", ".", "."], shown


def test_columns_can_only_make_it_narrower(bulkhead, board):
    assert widest(on_terminal(bulkhead, 80, "status", COLUMNS="40")) <= 40
    assert 40 < widest(on_terminal(bulkhead, 60, "status", COLUMNS="200")) <= 60
    assert on_terminal(bulkhead, 60, "status", COLUMNS="what") == on_terminal(bulkhead, 60, "status")


@pytest.mark.parametrize("env", [{"NO_COLOR": "1"}, {"NO_COLOR": "0"}, {"TERM": "dumb"}, {"TERM": ""}])
def test_no_colour_where_it_is_not_wanted(env, bulkhead, board):
    assert "\x1b" in on_terminal(bulkhead, 80, "status", NO_COLOR="")
    shown = on_terminal(bulkhead, 80, "status", **env)
    assert "\x1b" not in shown and "*!" in shown


@pytest.mark.parametrize("args", [["status"], ["inventory"], ["profiles"], ["help"], ["status", "--json"]])
def test_a_pipe_has_no_escape_byte_and_no_folded_line(args, bulkhead, board):
    env = {"TERM": "xterm-256color", "COLUMNS": "40"}
    said = bulkhead(*args, env=env)
    assert "\x1b" not in said.out + said.err
    assert said.out == bulkhead(*args, env={"TERM": "dumb", "COLUMNS": "500"}).out
    assert max(map(len, said.out.split("\n"))) > 40 or "--json" in args


def test_json_is_the_same_on_a_terminal(bulkhead, board):
    assert on_terminal(bulkhead, 40, "status", "--json") == bulkhead("status", "--json").out


def test_a_plan_is_a_difference_with_the_board_before_and_after(bulkhead, node, tmp_path):
    machine = node("h100x1")
    text = bulkhead("plan", "-f", EXAMPLE, "--select", "balanced").out
    assert "  before: MIG off\n  + switch MIG mode on\n" in text
    assert "  + create GPU instance 3g.40gb at 4 with 1 compute instance\n" in text
    assert "compute instance of" not in text
    bulkhead("apply", "-f", EXAMPLE, "--select", "balanced")
    machine.inject("busy", "gpu=0", "start=4", "pid=4242")
    text = bulkhead("plan", "-f", EXAMPLE, "--select", "notebooks").out
    before, after = [marks(part) for part in text.split("  after:\n")]
    assert before == ["2g.20gb", "1g.10gb", "1g.10gb", "*3g.40gb"] and after == ["1g.20gb", "1g.20gb", "*3g.40gb"]
    assert "  = keep GPU instance 3g.40gb at 4 (in use)\n" in text
    assert re.search(r"^  - destroy GPU instance 2g\.20gb at 0 with 1 compute instance \(MIG-[0-9a-f-]{36}\)$", text, re.M)
    steps = bulkhead("plan", "-f", EXAMPLE, "--select", "notebooks", "--json").json["gpus"][0]["steps"]
    gis = [step["op"] for step in steps if step["op"] in ("create-gi", "destroy-gi")]
    assert len(re.findall(r"^  [+-] ", text, re.M)) == len(gis)
    shown = on_terminal(bulkhead, 80, "plan", "-f", EXAMPLE, "--select", "notebooks")
    assert re.search("^" + RED + r"  - destroy", shown, re.M) and re.search("^" + GREEN + r"  \+ create", shown, re.M)
    assert re.search(r"^  = keep", shown, re.M)


def test_a_plan_without_steps_shows_the_board_once(bulkhead, node):
    node("h100x1")
    bulkhead("apply", "-f", EXAMPLE, "--select", "balanced")
    text = bulkhead("plan", "-f", EXAMPLE, "--select", "balanced").out
    assert "  nothing to do\n" in text and text.count("\n  |") == 1 and "before" not in text


def test_a_word_of_the_command_line_cannot_drive_the_terminal(bulkhead):
    word = "a\x1b]0;b\x07c"
    for said in (bulkhead(word, exit=2).err, bulkhead("status", "--driver", word, exit=2).err, on_terminal(bulkhead, 200, word)):
        assert "a?]0;b?c" in said and "\x1b]" not in said and "\x07" not in said, said


def test_a_process_cannot_drive_the_terminal_with_its_name(bulkhead, node):
    machine = node("h100x1")
    bulkhead("apply", "-f", EXAMPLE, "--select", "balanced")
    machine.inject("holder", "gpu=0", "kind=process", "start=4", "pid=77", "name=a\x1b]0;b\x07c")
    shown = on_terminal(bulkhead, 200, "status") + bulkhead("status").out
    assert shown.count("process 77 (a?]0;b?c)") == 2 and "\x1b]" not in shown, shown


class Tmux:
    """A detached terminal on a socket of its own."""

    def __init__(self, folder, columns):
        self.command = ["tmux", "-S", str(folder / "tmux"), "-f", "/dev/null"]
        self.folder = folder
        self("new-session", "-d", "-x", str(columns), "-y", "60", "sh")

    def __call__(self, *args):
        done = subprocess.run([*self.command, *args], capture_output=True, text=True, timeout=30, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def screen(self, command, env):
        """Run a command in the pane to its end; the lines as they stand there, with their escapes."""
        done = self.folder / "done"
        done.unlink(missing_ok=True)
        script = self.folder / "run"
        script.write_text("".join("export %s=%s\n" % (key, shlex.quote(value)) for key, value in env.items()) +
                          "unset COLUMNS NO_COLOR; clear; %s; echo $? > %s\n" % (shlex.join(command), done))
        self("send-keys", "-l", ". " + str(script))
        self("send-keys", "Enter")
        end = time.monotonic() + 30
        while not (done.exists() and done.read_text().strip()):
            assert time.monotonic() < end, self("capture-pane", "-p")
            time.sleep(0.05)
        assert done.read_text().strip() == "0"
        time.sleep(0.2)  # what was written last reaches the screen
        return self("capture-pane", "-p", "-e"), self("capture-pane", "-p", "-J")


@pytest.mark.parametrize("columns", [80, 40])
def test_status_and_plan_in_a_real_terminal(columns, bulkhead, board, tmp_path):
    if not shutil.which("tmux"):
        pytest.skip("there is no tmux here")
    env = {key: value for key, value in bulkhead.env.items() if key.startswith("BULKHEAD_")}
    tmux = Tmux(tmp_path, columns)
    try:
        for command in (["status"], ["plan", "-f", str(board), "--select", "first"]):
            shown, joined = tmux.screen([bulkhead.program, *command], env)
            assert re.search(MAGENTA, shown) and re.search(GREEN, shown), shown
            assert "*!" in plain(shown) and "|!" in plain(shown) and "|." in plain(shown), shown
            assert widest(shown) <= columns
            # -J joins the lines that the terminal itself had to wrap: none may have been
            assert max(len(line.rstrip()) for line in joined.split("\n")) <= columns, joined
    finally:
        tmux("kill-server")
