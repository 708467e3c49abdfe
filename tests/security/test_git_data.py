"""Git data of another repository: an unpacked archive that leads to it shows, stores and publishes nothing of it."""

from __future__ import annotations

import contextlib
import shutil
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.feedback.team import shared_name
from assay.git import Git, find_place
from support.command import Done, assay
from support.hostile_git import git

SECRETS = ("Zanzibar", "zanzibar", "Whistleblower")
CODE = "def buy():\n    return {}\n"


def commit(folder: Path, subject: str, author: str) -> None:
    git(folder, "add", "-A")
    git(folder, "-c", f"user.name={author}", "commit", "-q", "-m", subject)


def repository(folder: Path, subject: str, author: str, branch: str = "main") -> Path:
    """A repository in which two commits change the same file."""
    folder.mkdir()
    git(folder, "init", "-q", "-b", branch)
    for number in range(2):
        (folder / "shop.py").write_text(CODE.format(number))
        commit(folder, f"{subject} {number}", author)
    git(folder, "remote", "add", "origin", f"git@example.org:{author}.git")
    return folder


@pytest.fixture
def private(tmp_path: Path) -> Path:
    """A repository of the user's, at a place that the author of the archive knows."""
    return repository(tmp_path / "private", "Merge with Zanzibar", "Whistleblower")


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """An unpacked archive with a repository of its own."""
    return repository(tmp_path / "archive", "Open the shop", "Ada", "other")


def git_file(own: Path, victim: Path) -> None:
    shutil.rmtree(own)
    own.write_text(f"gitdir: {victim}\n")


def git_link(own: Path, victim: Path) -> None:
    shutil.rmtree(own)
    own.symlink_to(victim)


def relative_git_link(own: Path, victim: Path) -> None:
    shutil.rmtree(own)
    own.symlink_to("../private/.git")


def common_directory(own: Path, victim: Path) -> None:
    (own / "commondir").write_text("../../private/.git\n")
    (own / "HEAD").write_text("ref: refs/heads/main\n")


def linked_folders(own: Path, victim: Path) -> None:
    for name in ("objects", "refs"):
        shutil.rmtree(own / name)
        (own / name).symlink_to(victim / name)
    (own / "HEAD").write_text("ref: refs/heads/main\n")


def linked_parts(own: Path, victim: Path) -> None:
    """Linked below `objects`, with the branch as a link."""
    for folder in (victim / "objects").iterdir():
        if len(folder.name) == 2:
            shutil.rmtree(own / "objects" / folder.name, ignore_errors=True)
            (own / "objects" / folder.name).symlink_to(folder)
    (own / "refs" / "heads" / "main").symlink_to(victim / "refs" / "heads" / "main")
    (own / "HEAD").write_text("ref: refs/heads/main\n")


def linked_packs(own: Path, victim: Path) -> None:
    git(victim.parent, "gc", "-q")
    shutil.rmtree(own / "objects" / "pack")
    (own / "objects" / "pack").symlink_to(victim / "objects" / "pack")
    (own / "packed-refs").symlink_to(victim / "packed-refs")
    (own / "HEAD").write_text("ref: refs/heads/main\n")


def link_inside(own: Path, victim: Path) -> None:
    """A link that stays in the git directory, to one that does not."""
    (own / "store").mkdir()
    for name in ("objects", "refs"):
        shutil.rmtree(own / name)
    for part in (victim / "objects").iterdir():
        (own / "store" / part.name).symlink_to(part)
    (own / "objects").symlink_to("store")
    (own / "refs").symlink_to(victim / "refs")
    (own / "HEAD").write_text("ref: refs/heads/main\n")


def alternates(own: Path, victim: Path) -> None:
    (own / "objects" / "info" / "alternates").write_text(f"# mirrors\n\n{victim / 'objects'}\n")
    (own / "HEAD").write_text(git(victim.parent, "rev-parse", "HEAD"))


def linked_alternates(own: Path, victim: Path) -> None:
    (own / "alternates").write_text("../../../private/.git/objects\n")
    (own / "objects" / "info" / "alternates").symlink_to("../../alternates")
    (own / "HEAD").write_text(git(victim.parent, "rev-parse", "HEAD"))


def bare_repository(own: Path, victim: Path) -> None:
    git(own.parent.parent, "clone", "-q", "--bare", str(victim), "mirror.git")
    git_file(own, own.parent.parent / "mirror.git")


def separate_directory(own: Path, victim: Path) -> None:
    """The other repository has a git directory elsewhere, and shares most files with the archive."""
    git(victim.parent, "init", "-q", f"--separate-git-dir={victim.parent.parent / 'apart'}")
    git_file(own, victim.parent.parent / "apart")


def worktree_of_another_folder(own: Path, victim: Path) -> None:
    git(victim.parent, "worktree", "add", "-q", str(victim.parent.parent / "wip"))
    git_file(own, victim / "worktrees" / "wip")


def submodule_of_another_folder(own: Path, victim: Path) -> None:
    super_project = repository(victim.parent.parent / "super", "Build", "Grace")
    git(super_project, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(victim.parent), "inner")
    git_file(own, super_project / ".git" / "modules" / "inner")


def forged_worktree(own: Path, victim: Path) -> None:
    """A git directory of a linked working tree that the archive brings, with the right reference back."""
    git(victim.parent, "worktree", "add", "-q", str(victim.parent.parent / "wip"))
    forged = own.parent / "metadata" / "worktrees" / "x"
    shutil.copytree(victim / "worktrees" / "wip", forged)
    (forged / "commondir").write_text(f"{victim}\n")
    (forged / "gitdir").write_text(f"{own}\n")
    git_file(own, forged)


def forged_common_directory(own: Path, victim: Path) -> None:
    """The same with a common directory that the archive brings, too, and that links on."""
    brought = own.parent / "metadata"
    shutil.move(own, brought)
    git(own.parent, "--git-dir=metadata", "worktree", "add", "-q", "--detach", str(own.parent / "x"))
    shutil.rmtree(own.parent / "x")
    (brought / "worktrees" / "x" / "gitdir").write_text(f"{own}\n")
    (brought / "worktrees" / "x" / "HEAD").write_text("ref: refs/heads/main\n")
    own.write_text(f"gitdir: {brought / 'worktrees' / 'x'}\n")
    linked_folders(brought, victim)


def forged_submodule(own: Path, victim: Path) -> None:
    """A git directory of a submodule that the archive brings: refers back, and links on."""
    brought = own.parent / "modules"
    shutil.move(own, brought)
    git(own.parent, "--git-dir=modules", "config", "core.worktree", "..")
    own.write_text("gitdir: modules\n")
    linked_folders(brought, victim)


WAYS: dict[str, Callable[[Path, Path], None]] = {
    way.__name__: way
    for way in (
        git_file, git_link, relative_git_link, common_directory, linked_folders, linked_parts, linked_packs, link_inside,
        alternates, linked_alternates, bare_repository, separate_directory, worktree_of_another_folder, submodule_of_another_folder,
        forged_worktree, forged_common_directory,
        forged_submodule,
    )
}  # fmt: skip


def leaks(*folders: Path) -> list[str]:
    """Files that have a private word, compressed or not."""
    found = []
    for path in (path for folder in folders for path in folder.rglob("*") if path.is_file()):
        data = path.read_bytes()
        with contextlib.suppress(zlib.error):
            data += zlib.decompress(data)
        if any(secret.encode(coding) in data for secret in SECRETS for coding in ("utf-8", "utf-32-le")):
            found.append(path.name)
    return found


def output(done: Done) -> str:
    return done.out + done.err


@pytest.mark.parametrize("way", WAYS)
def test_nothing_of_another_repository_is_read(tmp_path: Path, archive: Path, private: Path, way: str) -> None:
    WAYS[way](archive / ".git", private / ".git")
    assert any(word in git(archive, "log") for word in SECRETS), "plain git follows"
    (archive / "shop.py").write_text("def buy():\n    return 3\n")
    done = assay(archive, "index")
    assert done.code == 0
    assert done.err.count("git data outside this folder is not read") == done.err.count("\n") == 1, done.err
    assert "buy" in assay(archive, "symbols", "buy").out
    outputs = [done, assay(archive, "owners", "buy"), assay(archive, "context", "buy in the shop")]
    for command in (["context", "--pr", "HEAD~1"], ["eval", "mine"], ["tests"], ["search", "buy", "--since", "HEAD~1"]):
        refused = assay(archive, *command)
        assert (refused.code, refused.err.count("\n")) == (2, 1)
        assert "git data outside this folder is not read" in refused.err
        outputs.append(refused)
    assert "git data outside" in assay(archive, "status", "--format", "json").json["warnings"][0]
    published = assay(archive, "publish", str(tmp_path / "place"))
    assert published.code == 0, published.err
    assert not [done for done in outputs if any(word in output(done) for word in SECRETS)]
    assert leaks(archive / ".assay", tmp_path / "place") == []
    assert shared_name(archive) in ("", "example.org/Ada"), "nor is feedback shared as that of the other"


@pytest.mark.parametrize(
    "name", ["index", "config", "HEAD", "packed-refs", "shallow", "logs", "sharedindex.0", "reftable"]
)
@pytest.mark.parametrize("linked", [False, True])
def test_no_file_of_a_git_directory_may_be_a_link(tmp_path: Path, archive: Path, name: str, linked: bool) -> None:
    folder, own = archive, archive / ".git"
    if linked:
        folder = tmp_path / "wip"
        git(archive, "worktree", "add", "-q", str(folder))
        own = own / "worktrees" / "wip"
    (tmp_path / "data").mkdir()
    if (own / name).exists():
        shutil.move(own / name, tmp_path / "data" / name)
    (own / name).symlink_to(tmp_path / "data" / name)
    git_ = Git(folder)
    assert (git_.place, f"{own / name} is a link" in git_.trouble) == (None, True)


def test_a_subfolder_is_treated_like_the_top(archive: Path, private: Path) -> None:
    git_file(archive / ".git", private / ".git")
    (archive / "part").mkdir()
    (archive / "part" / "tea.py").write_text("def pour():\n    pass\n")
    assert find_place(archive / "part") is None
    done = assay(archive / "part", "index")
    assert "git data outside this folder is not read" in done.err
    assert (archive / ".assay").is_dir(), "the root is found as before"


def test_an_outer_repository_is_not_read_instead(archive: Path, private: Path) -> None:
    (archive / "vendored").mkdir()
    (archive / "vendored" / ".git").write_text(f"gitdir: {private / '.git'}\n")
    assert Git(archive / "vendored").place is None
    assert Git(archive).revision("HEAD")


def test_what_an_earlier_version_read_is_removed(tmp_path: Path, private: Path) -> None:
    root = private.rename(tmp_path / "root")
    assert assay(root, "index").code == 0
    shutil.copytree(root / ".git" / "assay", root / ".assay", dirs_exist_ok=True)
    assert sorted(leaks(root / ".assay")) == ["commits.db", "history.npz"]
    (root / ".git").rename(tmp_path / "elsewhere")
    (root / ".git").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere" / "index").unlink()
    assert assay(root, "publish", str(tmp_path / "place")).code == 0
    assert leaks(tmp_path / "place") == []
    assert assay(root, "index").code == 0
    assert leaks(root / ".assay") == []


# what is read


def reads(folder: Path, word: str = "Whistleblower") -> bool:
    """Whether a folder is indexed without a warning, and its history is known."""
    done = assay(folder, "index")
    assert (done.code, done.err) == (0, "")
    return word in assay(folder, "owners", "buy").out


@pytest.mark.parametrize("relative", [False, True])
def test_a_linked_working_tree_is_read(tmp_path: Path, private: Path, relative: bool) -> None:
    """`relative`: as `git worktree add --relative-paths` of git 2.48 writes it."""
    other = tmp_path / "wip"
    git(private, "worktree", "add", "-q", str(other))
    (other / "shop.py").write_text(CODE.format(5))
    commit(other, "Again", "Grace")
    if relative:
        (other / ".git").write_text("gitdir: ../private/.git/worktrees/wip\n")
        (private / ".git/worktrees/wip/gitdir").write_text("../../../../wip/.git\n")
        git(private, "config", "core.repositoryFormatVersion", "1")
        git(private, "config", "extensions.relativeWorktrees", "true")
    if relative and not git(other, "status"):  # an older git, which refuses the extension
        git(private, "config", "--file", ".git/config", "--unset", "extensions.relativeWorktrees")
    assert reads(other, "Grace")
    assert reads(private)


def test_a_linked_working_tree_of_a_bare_repository_is_read(tmp_path: Path, private: Path) -> None:
    git(tmp_path, "clone", "-q", "--bare", str(private), "mirror.git")
    git(tmp_path / "mirror.git", "worktree", "add", "-q", str(tmp_path / "wip"))
    assert reads(tmp_path / "wip")


def test_a_moved_working_tree_is_read_after_repair(tmp_path: Path, private: Path) -> None:
    git(private, "worktree", "add", "-q", str(tmp_path / "wip"))
    moved = (tmp_path / "wip").rename(tmp_path / "moved")
    assert f"git worktree repair {moved}" in assay(moved, "index").err
    git(private, "worktree", "repair", str(moved))
    assert reads(moved)


def test_a_submodule_is_read_also_in_a_linked_working_tree(tmp_path: Path, private: Path, archive: Path) -> None:
    allowed = ("-c", "protocol.file.allow=always")
    git(archive, *allowed, "submodule", "add", "-q", str(private), "inner")
    commit(archive, "Add a submodule", "Ada")
    assert reads(archive / "inner")
    git(archive, "worktree", "add", "-q", str(tmp_path / "wip"))
    git(tmp_path / "wip", *allowed, "submodule", "update", "-q", "--init")
    assert reads(tmp_path / "wip" / "inner")


def test_a_separate_git_directory_must_name_its_working_tree(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    git(root, "init", "-q", "--separate-git-dir=../apart")
    for number in range(2):
        (root / "shop.py").write_text(CODE.format(number))
        commit(root, f"Change {number}", "Grace")
    assert f"--git-dir={tmp_path / 'apart'} config core.worktree {root}" in assay(root, "index").err
    git(root, "--git-dir=../apart", "config", "core.worktree", str(root))
    assert reads(root, "Grace")


def test_an_equal_copy_is_not_taken_for_the_working_tree(tmp_path: Path, private: Path) -> None:
    """Git, as a shell prompt starts it, writes all files of the copy to the index of the other."""
    copy = tmp_path / "copy"
    shutil.copytree(private, copy)
    git_file(copy / ".git", private / ".git")
    git(copy, "status")
    assert Git(copy).place is None


def test_a_shared_clone_is_read_once_it_has_its_own_objects(tmp_path: Path, private: Path) -> None:
    for option in ("--shared", f"--reference={private}"):
        shutil.rmtree(tmp_path / "copy", ignore_errors=True)
        git(tmp_path, "clone", "-q", option, private.as_uri() if "=" in option else str(private), "copy")
        line = assay(tmp_path / "copy", "index").err
        assert "alternates names objects of other repositories" in line
        command = line[line.index("git -C") :].strip()
        assert command.endswith(f"repack -a -d && rm {tmp_path}/copy/.git/objects/info/alternates")
        git(tmp_path / "copy", "repack", "-q", "-a", "-d")
        (tmp_path / "copy/.git/objects/info/alternates").unlink()
        assert reads(tmp_path / "copy")


def test_links_that_lead_nowhere_else_are_no_harm(archive: Path, private: Path) -> None:
    own = archive / ".git"
    (own / "HEAD").unlink()
    (own / "HEAD").symlink_to("refs/heads/other")
    shutil.rmtree(own / "hooks", ignore_errors=True)
    (own / "hooks").symlink_to(private)
    (own / "objects" / "info" / "alternates").write_text("# none\n\n")
    assert reads(archive, "Ada")


def test_grafts_and_addresses_of_objects_are_not_followed(archive: Path, private: Path) -> None:
    """Git reads neither here: grafts are not part of its view, and the addresses are for a transport of old."""
    head, other = (git(folder, "rev-parse", "HEAD").strip() for folder in (archive, private))
    (archive / ".git" / "info" / "grafts").write_text(f"{head} {other}\n")
    (archive / ".git" / "objects" / "info" / "http-alternates").write_text(f"{private.as_uri()}/.git/objects\n")
    assert reads(archive, "Ada")
    assert leaks(archive / ".assay", archive / ".git" / "assay") == []
