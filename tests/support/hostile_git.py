"""A repository whose git configuration, attributes and hooks name a program wherever git can start one.

Every program leaves a marker with the name of the setting that started it.
"""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

# Settings of git that start a program, by hand from `git help --config` and the manual pages of git 2.39, with some of later
# versions. {run} becomes a command that leaves a marker, {script} a program that does, {folder} the folder with the baits.
PROGRAMS = {
    "alias.diff": "!{run}",
    "alias.log": "!{run}",
    "alias.ls-files": "!{run}",
    "alias.rev-parse": "!{run}",
    "browser.evil.cmd": "{run}",
    "browser.evil.path": "{script}",
    "core.alternateRefsCommand": "{run}",
    "core.askPass": "{script}",
    "core.editor": "{run}",
    "core.fsmonitor": "{run}; printf x",
    "core.gitProxy": "{script}",
    "core.hooksPath": "{folder}/hooks",
    "core.pager": "{run}; cat",
    "core.sshCommand": "{run}",
    "credential.helper": "!{run}",
    "credential.https://example.org.helper": "!{run}",
    "diff.evil.command": "{run};:",
    "diff.evil.textconv": "{run}; cat",
    "diff.python.command": "{run};:",
    "diff.python.textconv": "{run}; cat",
    "diff.external": "{run};:",
    "difftool.evil.cmd": "{run}",
    "difftool.evil.path": "{script}",
    "filter.ev=il.clean": "{run}; cat",
    "filter.ev=il.process": "{run}",
    "filter.ev=il.smudge": "{run}; cat",
    "filter.evil.clean": "{run}; cat",
    "filter.evil.smudge": "{run}; cat",
    "filter.lfs.clean": "{run}; cat",
    "filter.lfs.process": "{run}",
    "filter.lfs.smudge": "{run}; cat",
    "gc.recentObjectsHook": "{run}",
    "gpg.openpgp.program": "{script}",
    "gpg.program": "{script}",
    "gpg.ssh.defaultKeyCommand": "{run}",
    "gpg.ssh.program": "{script}",
    "gpg.x509.program": "{script}",
    "guitool.evil.cmd": "{run}",
    "help.browser": "evil",
    "hook.evil.command": "{run}",
    "imap.tunnel": "{run}",
    "init.templateDir": "{folder}",
    "instaweb.browser": "evil",
    "instaweb.httpd": "{script}",
    "interactive.diffFilter": "{run}; cat",
    "man.evil.cmd": "{run}",
    "man.evil.path": "{script}",
    "man.viewer": "evil",
    "merge.evil.driver": "{run}",
    "mergetool.evil.cmd": "{run}",
    "mergetool.evil.path": "{script}",
    "pager.diff": "{run}; cat",
    "pager.log": "{run}; cat",
    "pager.ls-files": "{run}; cat",
    "pager.rev-parse": "{run}; cat",
    "remote.evil.receivepack": "{run}",
    "remote.evil.uploadpack": "{run}",
    "remote.evil.url": "ext::{folder}/fetch",
    "remote.evil.vcs": "ext",
    "sendemail.ccCmd": "{run}",
    "sendemail.headerCmd": "{run}",
    "sendemail.sendmailCmd": "{run}",
    "sendemail.smtpServer": "{script}",
    "sendemail.toCmd": "{run}",
    "sequence.editor": "{run}",
    "submodule.inner.update": "!{run}",
    "svn.authorsProg": "{script}",
    "tar.tgz.command": "{run}",
    "trace2.eventTarget": "{folder}/markers/trace2.eventTarget",  # no program, but a file of git's choice is written
    "trace2.normalTarget": "{folder}/markers/trace2.normalTarget",
    "trace2.perfTarget": "{folder}/markers/trace2.perfTarget",
    "trailer.evil.cmd": "{run}",
    "trailer.evil.command": "{run}",
    "uploadpack.packObjectsHook": "{run}",
    "web.browser": "evil",
}

# Settings that make git use the programs above, or another configuration, or files elsewhere.
ENABLING = {
    "add.interactive.useBuiltin": "false",
    "commit.gpgSign": "true",
    "core.attributesFile": "{folder}/attributes",
    "diff.guitool": "evil",
    "diff.ignoreSubmodules": "none",
    "diff.submodule": "diff",
    "diff.tool": "evil",
    "extensions.worktreeConfig": "true",
    "fetch.recurseSubmodules": "true",
    "hook.evil.event": "post-index-change",
    "include.path": "{folder}/included",
    "includeIf.gitdir:/.path": "{folder}/included",
    "log.showSignature": "true",
    "maintenance.auto": "true",
    "merge.tool": "evil",
    "merge.verifySignatures": "true",
    "protocol.allow": "always",
    "protocol.ext.allow": "always",
    "status.submoduleSummary": "true",
    "submodule.inner.active": "true",
    "submodule.inner.ignore": "none",
    "submodule.recurse": "true",
    "trailer.evil.key": "Evil",
}

ATTRIBUTES = (
    "* filter=evil diff=evil merge=evil\nlfs.py filter=lfs\nequals.py filter=ev=il diff\ndriver.py diff=python\n"
)
HOOKS = ("post-index-change", "reference-transaction", "post-checkout", "pre-auto-gc", "fsmonitor-watchman")
ALTERED = ("shop.py", "lfs.py", "equals.py", "driver.py")


class Bait:
    """A folder with programs that leave markers."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._markers = folder, folder / "markers"
        self._markers.mkdir(parents=True)
        for hook in HOOKS:
            self.script(f"hook {hook}", folder / "hooks" / hook)
        self.script("fetch", folder / "fetch")
        (folder / "attributes").write_text(ATTRIBUTES)
        (folder / "included").write_text(f'[core]\n\tfsmonitor = "{self.run("include.path")}"\n')

    def run(self, name: str) -> str:
        """A shell command that leaves a marker."""
        return f"touch {shlex.quote(str(self._markers / name.replace('/', '_')))}"

    def script(self, name: str, path: Path | None = None) -> Path:
        """A program that leaves a marker."""
        path = path or self.folder / "scripts" / name.replace("/", "_")
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{self.run(name)}\n")
        path.chmod(0o755)
        return path

    def configure(self, path: Path, settings: dict[str, str]) -> None:
        """Add settings to a configuration file."""
        with path.open("a") as file:
            for name, value in settings.items():
                section, _, rest = name.partition(".")
                subsection, _, key = rest.rpartition(".")
                written = value.format(run=self.run(name), script=self.script(name), folder=self.folder)
                header = f'{section} "{subsection}"' if subsection else section
                file.write(f'[{header}]\n\t{key} = "{written}"\n')

    def markers(self) -> list[str]:
        """The names of what was started since this was last asked."""
        found = sorted(os.listdir(self._markers))
        for name in found:
            (self._markers / name).unlink()
        return found


def git(folder: Path, *arguments: str) -> str:
    """Plain git, as a person would run it."""
    settings = ("user.name=t", "user.email=t@example.org")
    options = [word for setting in settings for word in ("-c", setting)]
    done = subprocess.run(["git", *options, *arguments], cwd=folder, capture_output=True, text=True, check=False)
    return done.stdout


def shop(folder: Path) -> Path:
    """An ordinary repository with two commits, one of them signed, and files that differ from the last."""
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    files = {name: f'def buy_{name[:-3]}():\n    """Buy a kettle from the shop."""\n    return 1\n' for name in ALTERED}
    files |= {"test_shop.py": "from shop import buy_shop\n\n\ndef test_buying():\n    assert buy_shop() == 1\n"}
    files |= {"guide.md": "# Kettles\n\nHow to buy a kettle from the shop.\n", ".gitattributes": ATTRIBUTES}
    for name, text in files.items():
        (folder / name).write_text(text)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "Open the shop for people who want kettles")
    for name in ALTERED:
        (folder / name).write_text(files[name].replace("return 1", "return 1 + 0"))
    git(folder, "add", "-A")
    signer = folder.parent / "signer"
    signature = "-----BEGIN PGP SIGNATURE-----\\n\\nx\\n-----END PGP SIGNATURE-----\\n"
    signer.write_text(f"#!/bin/sh\ncat >/dev/null\necho '[GNUPG:] SIG_CREATED ' >&2\nprintf -- '{signature}'\n")
    signer.chmod(0o755)
    git(folder, "-c", f"gpg.program={signer}", "commit", "-q", "-S", "-m", "Buy kettles with a sum of two numbers")
    for name in ALTERED:
        (folder / name).write_text(files[name].replace("return 1", "return 2 - 1"))
    return folder


def poison(root: Path, bait: Bait) -> None:
    """Set every bait there is in a repository, its hooks and a submodule of it."""
    inner = root / "inner"
    inner.mkdir()
    git(inner, "init", "-q", "-b", "main")
    (inner / "pump.py").write_text("def pump():\n    pass\n")
    git(inner, "add", "-A")
    git(inner, "commit", "-q", "-m", "Pump")
    git(root, "update-index", "--add", "--cacheinfo", f"160000,{git(inner, 'rev-parse', 'HEAD').strip()},inner")
    (root / ".gitmodules").write_text('[submodule "inner"]\n\tpath = inner\n\turl = ./inner\n\tignore = none\n')
    git(root, "add", ".gitmodules")
    git(root, "commit", "-q", "-m", "Add a submodule with a pump inside", "--", ".gitmodules", "inner")
    (inner / "pump.py").write_text("def pump():\n    return 1\n")
    for git_dir in (root / ".git", inner / ".git"):
        for hook in HOOKS:
            bait.script(f"hook {hook}", git_dir / "hooks" / hook)
        bait.configure(git_dir / "config", PROGRAMS | ENABLING)
        bait.configure(git_dir / "config.worktree", {"core.fsmonitor": "{run}; printf x"})
    (root / ".git" / "info" / "attributes").write_text("equals.py filter=ev=il\n")
    bait.markers()
