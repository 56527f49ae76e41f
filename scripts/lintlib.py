# SPDX-License-Identifier: Apache-2.0
"""What the lints share: which files there are, C text without its comments, and how to complain.

A lint is called as `lint-NAME [ROOT]` (default: this repository), prints one line for each complaint,
"FILE:LINE: what is wrong: what to do", and exits 0, 1, or 77 when it cannot judge here.
"""
import os
import re
import subprocess
import sys

SKIPPED_FOLDERS = re.compile(r"(^|/)(\.git|build(-[^/]*)?|shared|__pycache__|node_modules)(/|$)")
_C_TOKEN = re.compile(r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.DOTALL)


def _blank(text):
    return re.sub(r"[^\n]", " ", text)


def without_comments(text):
    """The same text, line for line and column for column, with comments blanked."""
    return _C_TOKEN.sub(lambda m: _blank(m.group()) if m.group()[0] == "/" else m.group(), text)


def code_only(text):
    """The same text with comments and the contents of literals blanked."""
    def blank(match):
        token = match.group()
        return _blank(token) if token[0] == "/" else token[0] + _blank(token[1:-1]) + token[-1]
    return _C_TOKEN.sub(blank, text)


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


class Lint:
    def __init__(self, argv):
        here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        if len(argv) > 2:
            sys.exit("usage: %s [ROOT]" % os.path.basename(argv[0]))
        self.root = os.path.abspath(argv[1]) if len(argv) == 2 else here
        self.complaints = 0

    def files(self, *suffixes, under=""):
        """Paths relative to the root: what git tracks or would track, or all files where there is no git."""
        found = []
        git = subprocess.run(
            ["git", "-C", self.root, "-c", "safe.directory=*", "ls-files", "-z", "-co", "--exclude-standard"],
            capture_output=True, check=False) if os.path.exists(os.path.join(self.root, ".git")) else None
        if git and git.returncode == 0:
            found = git.stdout.decode().split("\0")
        else:
            for folder, _, names in os.walk(self.root):
                found += [os.path.relpath(os.path.join(folder, name), self.root) for name in names]
        return sorted({path for path in found
                       if path and path.endswith(suffixes or ("",)) and path.startswith(under)
                       and not SKIPPED_FOLDERS.search(os.path.dirname(path))
                       and os.path.isfile(os.path.join(self.root, path))})

    def read(self, path):
        with open(os.path.join(self.root, path), encoding="utf-8", errors="replace") as file:
            return file.read()

    def complain(self, path, line, what, do):
        self.complaints += 1
        print("%s:%d: %s: %s" % (path, line, what, do))

    def done(self):
        sys.exit(1 if self.complaints else 0)


def cannot_judge(reason):
    print("skipped: " + reason)
    sys.exit(77)
