"""Git addresses: only those that the user typed, only safe transports, and nothing of a clone is ever run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from assay.git import clone
from assay.git.address import BadAddress, GitAddress, is_address, parse_address
from assay.git.launcher import transfer
from support.command import assay
from support.repository import Repository


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ASSAY_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache/repositories"


@pytest.fixture
def origin(tmp_path: Path) -> Repository:
    repository = Repository(tmp_path / "origin.git")
    repository.root.mkdir()
    repository.git("init", "-q", "-b", "main")
    repository.write("code.py", "def run():\n    pass\n")
    repository.commit("first")
    return repository


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("ext::sh -c touch% /tmp/x", "spaces or control"),
        ("ext::sh", "clone by https"),
        ("http://example.com/x.git", "clone by https"),
        ("git://example.com/x.git", "clone by https"),
        ("https::https://example.com/x", "clone by https"),
        ("https://me:secret@example.com/x.git", "no passwords"),
        ("https://example.com/x.git?a=b", "no git address"),
        ("https://example.com", "no git address"),
        ("https://[::1/x", "no git address"),
        ("ssh://-oProxyCommand=x/y", "no git address"),
        ("file://host/x.git", "no git address"),
        ("file:///", "no git address"),
        ("https://example.com/x.git#--upload-pack=x", "not a branch"),
        ("https://example.com/x.git#a..b", "not a branch"),
        ("https://example.com/\x1b[2Jx", "spaces or control"),
        ("https://example.com/" + "x" * 3000, "too long"),
    ],
)
def test_an_address_that_could_start_a_program_or_leak_a_password_is_refused(text: str, says: str) -> None:
    with pytest.raises(BadAddress, match=says) as refused:
        parse_address(text)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("https://example.com/a/shop.git", GitAddress("https://example.com/a/shop.git")),
        ("ssh://git@example.com:2222/a/shop#v1.0", GitAddress("ssh://git@example.com:2222/a/shop", "v1.0")),
        ("git@example.com:a/shop.git#main", GitAddress("git@example.com:a/shop.git", "main")),
        ("file:///srv/git/shop.git", GitAddress("file:///srv/git/shop.git")),
    ],
)
def test_addresses_of_the_safe_transports_are_taken(text: str, expected: GitAddress) -> None:
    assert is_address(text)
    assert parse_address(text) == expected
    assert expected.name == "shop"


@pytest.mark.parametrize(
    "text", ["shop", "./a@b", "label=/srv/x", "C:\\code", "/srv/git@host", "-oX@host:x", "a b@c:d"]
)
def test_folders_and_options_are_no_addresses(text: str) -> None:
    assert not is_address(text)


def test_the_name_of_a_clone_cannot_leave_the_cache(cache: Path) -> None:
    for text in ("https://example.com/..", "https://example.com/a/...git", "git@host:.."):
        folder = (clone.cache_folder() / parse_address(text).folder).resolve()
        assert folder.parent == cache.resolve()


def test_a_clone_runs_no_hook_filter_or_program_of_the_repository_or_of_a_template(
    tmp_path: Path, origin: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = tmp_path / "ran"
    template = tmp_path / "template/hooks"
    template.mkdir(parents=True)
    for hook in ("post-checkout", "reference-transaction", "post-index-change"):
        (template / hook).write_text(f"#!/bin/sh\necho {hook} >> {mark}\n")
        (template / hook).chmod(0o755)
    configuration = tmp_path / "gitconfig"
    configuration.write_text(
        f"[init]\n\ttemplateDir = {tmp_path}/template\n[core]\n\tfsmonitor = echo x >> {mark}\n"
        f'[filter "evil"]\n\tsmudge = echo filter >> {mark}\n\trequired = true\n[safe]\n\tdirectory = *\n'
    )
    origin.write(".gitattributes", "* filter=evil\n")
    origin.write(".gitmodules", f'[submodule "x"]\n\tpath = x\n\turl = ext::sh -c "echo submodule >> {mark}"\n')
    origin.commit("hostile")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(configuration))
    address = parse_address(f"file://{origin.root}")
    folder = clone.cache_folder() / address.folder
    clone.update(address, clone.resolve(address), folder)
    assert (folder / "code.py").read_text().startswith("def run")
    assert not mark.exists()


def test_a_transfer_refuses_other_transports_than_the_safe_ones(tmp_path: Path) -> None:
    done = transfer(tmp_path, ["ls-remote", "--", f"ext::sh -c touch% {tmp_path}/ran"])
    assert done.code
    assert "not allowed" in done.complaint
    assert not (tmp_path / "ran").exists()
    with pytest.raises(ValueError, match="push"):
        transfer(tmp_path, ["push"])


def test_ssh_is_started_without_a_terminal_as_the_user_configured_it(
    tmp_path: Path, origin: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    ssh = tmp_path / "bin/ssh"
    ssh.parent.mkdir()
    ssh.write_text(
        '#!/bin/sh\nif ( : < /dev/tty ) 2> /dev/null; then exit 3; fi\nfor last; do :; done\nexec sh -c "$last"\n'
    )
    ssh.chmod(0o755)
    monkeypatch.setenv("PATH", f"{ssh.parent}{os.pathsep}{os.environ['PATH']}")
    address = parse_address(f"git@example.com:{origin.root}")
    assert clone.resolve(address) == origin.git("rev-parse", "HEAD").strip()


def test_a_repository_cannot_name_an_address(tmp_path: Path, origin: Repository, cache: Path) -> None:
    workspace = tmp_path / "workspace"
    (workspace / "a").mkdir(parents=True)
    (workspace / "a/code.py").write_text("def run():\n    pass\n")
    (workspace / "assay.toml").write_text(f'[workspace]\nroots = ["a", "file://{origin.root}"]\n')
    assay(workspace, "index")
    assert not cache.exists()


@pytest.mark.parametrize("value", ["relative/cache", "."])
def test_a_cache_relative_to_the_current_folder_is_refused(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("ASSAY_CACHE_DIR", value)
    with pytest.raises(Exception, match="not an absolute path"):
        clone.cache_folder()
