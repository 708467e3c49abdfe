"""Transcripts of README and docs: run in order, compared, and rewritten with `make docs`.

A comment, which readers of a page do not see, names the project in whose copy the examples below it run:

    <!-- transcripts: PROJECT
    assay index
    -->

Commands in the comment prepare it. A page has one copy of each project and one shell for it.

A `console` block is what a terminal shows: each line after `$ ` is a command, then comes what it prints. A command ends with exit
code 0 or 1, in a block `console exit 2` also with 2. A line `…` stands for lines left out: as many as above and below it are kept.
`sh` blocks run, too, must succeed, and show nothing. `sh no-run` does not run; neither does `console no-run: REASON`, for what
cannot be reproduced here.
"""

from __future__ import annotations

import fcntl
import importlib.metadata
import importlib.util
import os
import re
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from support import warm_process
from support.environment import isolate
from support.paths import FIXTURES, ROOT
from support.terminal import STYLE, read_terminal, without_progress

COLUMNS, LINES = 100, 24
PAGES = sorted(
    page for folder in (".", "docs", "docs/guides", "eval", "examples/traces") for page in (ROOT / folder).glob("*.md")
)

# parts that differ from run to run, or from machine to machine
VOLATILE = [
    (re.compile(r"\b(in|index:) \d[\d,.]* (s|ms)\b"), r"\1 … \2"),
    (re.compile(r"(latency: +p50) .*"), r"\1 … ms, p95 … ms, mean … ms"),
    # two columns of a sweep: latency, and the marks that depend on it
    (re.compile(r"([│┬┼┴])[^│┬┼┴]*[│┬┼┴][^│┬┼┴]*[│┬┼┴]([^│┬┼┴]*[│╮┤╯])$", re.M), r"\1\2"),
    (re.compile(r"\bsince \d{4}-\d\d-\d\d \d\d:\d\d"), "since 2026-01-05 09:00"),
    (re.compile(r"\bsnapshot [0-9a-f]{16}\b"), "snapshot 11812bdcafb78c0a"),  # depends on the code of assay
    (re.compile(r"\b\d+(\.\d+)? [kM]B\b"), "… MB"),
]

_WHO = {"NAME": "Ada", "EMAIL": "ada@example.org", "DATE": "2026-01-05T09:00:00Z"}  # so that ids of commits stay
_COMMITTER = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in _WHO.items()}

_RUN = re.compile(r"\b\d{8}-\d{6}-[0-9a-f]{6}\b")  # shown numbered, in the order they appear

_MARK = re.compile("\x1e(\\d+)\x1e")  # exit code of a command, between what it and the next one print
_DIRECTIVE = re.compile(r"<!-- transcripts: (.+?)(?: -->|\n(.*?)^-->)$", re.S | re.M)
_BLOCK = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<body>.*?)^```$", re.S | re.M)
_MOST = {"console": 1, "console exit 2": 2}  # exit code by what a block says
_LEFT_OUT = re.compile(r"\s*…")


@dataclass
class Step:
    """Commands that run together, and what a page shows of them; None if that is nothing."""

    script: str
    shown: list[str] | None = None
    most: int = 0  # exit code
    printed: list[str] = field(default_factory=list)


class Page:
    """A page cut into its text and the blocks that run."""

    def __init__(self, text: str) -> None:
        self.steps: dict[str, list[Step]] = {}  # by project
        self.not_run: list[str] = []  # console blocks that only show something, with the reason
        self._parts: list[str | list[Step]] = []
        done, steps = 0, None
        for found in re.finditer(f"(?P<setup>{_DIRECTIVE.pattern})|{_BLOCK.pattern}", text, re.S | re.M):
            info = found["info"] or ""
            if found["setup"]:
                steps = self.steps.setdefault(found[2], [])
                steps += [Step(found[3])] if found[3] else []
            elif info.startswith("console no-run"):
                self.not_run.append(info.removeprefix("console no-run").removeprefix(":").strip())
            elif info == "sh" and steps is not None:
                steps.append(Step(found["body"]))
            elif info in _MOST and steps is not None:
                shown = list(_steps(found["body"], _MOST[info]))
                steps += shown
                self._parts += [text[done : found.start("body")], shown]
                done = found.end("body")
            elif info.startswith("console"):
                raise ValueError(f"`{info}` is unknown, or in front of any <!-- transcripts: … -->:\n{found['body']}")
        self._parts.append(text[done:])

    def run(self) -> str:
        """Run the examples; return the page with what the commands print now."""
        for project, steps in self.steps.items():
            _run(project, steps)
        return "".join(part if isinstance(part, str) else "".join(map(_written, part)) for part in self._parts)


def _steps(body: str, most: int) -> Iterator[Step]:
    """Cut a console block into its commands; a backslash at the end of a line continues it."""
    step: Step | None = None
    continued = False
    for line in body.splitlines():
        if step and continued:
            step.script += line + "\n"
        elif line.startswith("$ "):
            if step:
                yield step
            step = Step(line[2:] + "\n", [], most)
        elif step and step.shown is not None:
            step.shown.append(line)
        else:
            raise ValueError(f"a console block begins with a command, `$ …`:\n{body}")
        continued = line.endswith("\\") and not (step and step.shown)
    if step:
        yield step


def _written(step: Step) -> str:
    """Return command and output as a page has them, with as much left out as before."""
    kept = step.printed
    marks = [number for number, line in enumerate(step.shown or []) if _LEFT_OUT.fullmatch(line)]
    if marks:
        assert step.shown is not None
        first, last = marks[0], len(step.shown) - marks[0] - 1
        if len(marks) > 1:
            raise ValueError(f"more than one line … in the output of: {step.script}")
        if first + last < len(kept):
            kept = [*kept[:first], step.shown[first], *kept[len(kept) - last :]]
    return f"$ {step.script}" + "".join(f"{line}\n" for line in kept)


def _run(project: str, steps: list[Step]) -> None:
    """Run steps in a copy of a project, one after the other, and record what they print."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary).resolve()
        kind, _, name = project.partition(" ")
        root = folder / "home" / (name or kind)
        root.mkdir(parents=True)
        PROJECTS[kind](root)
        code, printed = _in_shell(root, folder / "tools", steps)
        *outputs, rest = _MARK.split(printed)
        runs: dict[str, str] = {}
        for step, output, exit_code in zip(steps, outputs[::2], outputs[1::2], strict=False):
            if int(exit_code) > step.most:
                raise RuntimeError(f"exit code {exit_code}: {step.script}{output}")
            step.printed = _shown(output, folder / "home", runs)
        if len(outputs) != 2 * len(steps):
            raise RuntimeError(f"exit code {code}: {steps[len(outputs) // 2].script}{rest}")


def _shown(output: str, home: Path, runs: dict[str, str]) -> list[str]:
    """Return the lines of an output as a page shows them: without colours, and without what varies."""
    text = STYLE.sub("", without_progress(output)).replace(str(home), "/home/me")
    for pattern, instead in VOLATILE:
        text = pattern.sub(instead, text)
    text = _RUN.sub(lambda found: runs.setdefault(found[0], f"20260105-09000{len(runs)}-3fa9c1"), text)
    return [line.rstrip() for line in text.rstrip().splitlines()]


def _in_shell(root: Path, tools: Path, steps: list[Step]) -> tuple[int, str]:
    """Run the steps in one shell in a terminal; return its exit code and what is printed, with a mark after each step."""
    home = str(root.parent)
    environment = shell_environment(tools) | {
        "HOME": home, "XDG_CONFIG_HOME": f"{home}/.config", "XDG_CACHE_HOME": f"{home}/.cache", "TERM": "xterm", "PAGER": "cat",
    }  # fmt: skip
    script = "".join(
        (f"set -e\n{step.script}\nset +e\nended=0" if step.shown is None else f"{step.script}\nended=$?")
        + "\nprintf '\\036%d\\036' $ended\n"
        for step in steps
    )
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
    with subprocess.Popen(
        ["bash", "-c", script],
        cwd=root,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
        pass_fds=[int(environment["ASSAY_WARM"])],
        start_new_session=True,
    ) as process:
        os.close(theirs)
        printed = b"".join(read_terminal(ours)).decode("utf-8", "replace").replace("\r\n", "\n")
        process.kill()  # if it shows nothing more, but has not ended
    os.close(ours)
    warm_process.add_used(tools / "used")
    return process.returncode, printed


def shell_environment(tools: Path) -> dict[str, str]:
    """Return an environment in which `assay` asks the warm process; whoever starts a shell with it passes ASSAY_WARM on.

    The programs stand in a new folder, `tools`, as does the file `used` with the CPU seconds of every command.
    """
    tools.mkdir()
    client = [sys.executable, "-IS", str(Path(warm_process.__file__).with_name("warm_client.py"))]
    for name, command in {"assay": client, "python": [sys.executable]}.items():
        (tools / name).write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n')
        (tools / name).chmod(0o755)
    (tools / "used").touch()
    return {
        **os.environ,
        **_COMMITTER,
        "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
        "SOURCE": str(ROOT),
        "ASSAY_WARM": str(warm_process.connection()),
        "ASSAY_USED": str(tools / "used"),
    }


# the projects


def _click(root: Path) -> None:
    """Copy the installed package, which is a real library and pinned in constraints.txt, and what its wheel has of its README."""
    found = importlib.util.find_spec("click")
    assert found is not None
    assert found.origin is not None
    shutil.copytree(Path(found.origin).parent, root / "src" / "click", ignore=shutil.ignore_patterns("__pycache__"))
    metadata = importlib.metadata.distribution("click").read_text("METADATA")
    assert metadata is not None
    (root / "README.md").write_text(metadata.partition("\n\n")[2], "utf-8")
    _commit(root)


def _loans(root: Path) -> None:
    shutil.copytree(FIXTURES / "screens" / "project", root, dirs_exist_ok=True)
    _commit(root)


def _shop(root: Path) -> None:
    shutil.copytree(ROOT / "examples" / "traces", root, dirs_exist_ok=True)
    _commit(root)


def _commit(root: Path) -> None:
    script = "git init -q -b main && git add -A && git commit -qm 'Begin'"
    subprocess.run(["bash", "-c", script], cwd=root, env=os.environ | _COMMITTER, check=True)


PROJECTS: dict[str, Callable[[Path], None]] = {
    "empty": lambda _: None,
    "click": _click,
    "loans": _loans,
    "shop": _shop,
}


def main() -> None:
    """Rewrite the pages named, or all."""
    home = isolate()
    try:
        for page in [Path(name) for name in sys.argv[1:]] or PAGES:
            try:
                page.write_text(Page(page.read_text("utf-8")).run(), "utf-8")
            except (RuntimeError, ValueError) as error:
                sys.exit(f"{page}: {error}")
    finally:
        shutil.rmtree(home)


if __name__ == "__main__":
    main()
