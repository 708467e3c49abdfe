"""Hostile manifests, deployment and ownership files: each costs only itself, and none leads outside the repository."""

from __future__ import annotations

import os
import re
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.core.items import Link
from assay.core.owners import OwnerRule, OwnerRules, parse_rules
from assay.index.enrich import manifests
from assay.index.enrich.sources import Sources
from assay.index.enrich.statements import read_statements
from assay.store.generation import UnusableIndex
from assay.store.links import stated
from assay.store.links.stated import Statements
from assay.system.inputs import parse_toml
from support.command import assay
from support.cpu import at_most
from support.paths import FIXTURES
from support.property_tests import examples
from support.repository import Repository

DEADLINE = 20  # CPU seconds for what takes less than one, and would take hours without bounds
GOOD = ("depends_on", "good/package.json", "dependency:express")
BELL = "\x07\x1b]0;owned\x07"

LAUGHS = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{new}: &{new} [{', '.join(f'*{old}' for _ in range(10))}]\n"
    for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)
MERGES = "a: &a {k: v}\n" + "".join(f"m{n}: &m{n} {{<<: [*{f'm{n - 1}' if n else 'a'}, *a]}}\n" for n in range(2000))
ENTITIES = (
    '<?xml version="1.0"?><!DOCTYPE p [<!ENTITY a "aaaaaaaaaa">'
    + "".join(f'<!ENTITY {new} "{f"&{old};" * 10}">' for old, new in zip("abcdefgh", "bcdefghi", strict=True))
    + "]><project><artifactId>&i;</artifactId></project>"
)
EXTERNAL_ENTITY = (
    '<!DOCTYPE p [<!ENTITY x SYSTEM "file:///etc/passwd">]><project><artifactId>&x;</artifactId></project>'
)

HOSTILE = {
    "pyproject.toml": [
        "x = " + "[" * 100_000,
        'project = 3\ntool = "x"\n',
        '[project]\nname = 3\ndependencies = "x"\n[project.scripts]\nx = 3\n',
        "[project]\nname = 'x'\ndependencies = [3, [], {}]\n",
        "x = " + "9" * 100_000,
    ],
    "requirements.txt": [
        "-r ../../../../etc/passwd\n-r /etc/passwd\n-e ../..\n-c file:///etc/passwd\n",
        "a" * 400_000,
        "\n".join(f"a{n}" + " " * 400 for n in range(900)),
        "-r requirements.txt\n",
    ],
    "setup.cfg": ["[metadata\n", "name = x", "[options]\ninstall_requires = %(x)s\n"],
    "setup.py": ["setup(" + "(" * 50_000, "setup(name=" + "-" * 100_000 + "1)", "import os; os.abort()\nsetup(name='x')"],
    "package.json": [
        "{" * 100_000,
        '{"a":' * 100_000,
        "[]",
        '{"name": [], "dependencies": [], "scripts": {"a": 3, "start": "npm start"}, "bin": 3, "main": []}',
        '{"name": "x", "dependencies": {"y": "file:../../../../etc", "z": 1}}',
        '{"dependencies": {' + ", ".join(f'"d{n}": "1"' for n in range(20_000)) + "}}",
    ],
    "go.mod": ["module x\nreplace y => ../../../etc\nrequire (\n", "require (\n" * 50_000],
    "Cargo.toml": ["[package]\nname = 'x'\n[dependencies]\ny = { path = '../../../../etc' }\nz = { workspace = true }\n", "[[bin]]\n"],
    "pom.xml": [
        ENTITIES,
        EXTERNAL_ENTITY,
        "<project>" * 50_000,
        "<project><artifactId>x",
        "<project><artifactId>x</artifactId><parent><relativePath>./pom.xml</relativePath><artifactId>x</artifactId></parent>"
        "<properties><a>${b}${b}</a><b>${a}${a}</b></properties><modules><module>../../..</module><module>/etc</module></modules>"
        "<dependencies><dependency><groupId>${a}</groupId><artifactId>y</artifactId></dependency></dependencies></project>",
    ],
    "build.gradle": ["/*" * 200_000, "implementation(" * 20_000, 'implementation project(":..:..:etc")\n', "a" * 400_000],
    "App.csproj": ['<Project><ItemGroup><ProjectReference Include="C:\\x.csproj" /><ProjectReference Include="\\\\h\\x" />', ENTITIES],
    "Gemfile": ["\n" * 400_000, "gem 'x', path: '../../../../etc'\n", "gem '" * 50_000],
    "Dockerfile": [
        "FROM a\n" + "COPY --from=0 / /\n" * 2_000,
        "".join(f"FROM x AS s{n}\nCOPY --from=s{n - 1} / /a\nCOPY --from=s{n - 1} / /b\n" for n in range(1, 300)),
        "FROM x\n" + "".join(f"ARG A{n + 1}=$A{n}$A{n}$A{n}\n" for n in range(500)),
        "FROM x\nCOPY ../../../../etc /etc\nWORKDIR /etc\nCMD python passwd.py\n",
        'FROM x\nCMD ["sh", "-c"' + ', "sh", "-c"' * 20_000 + "]\n",
        "FROM x\nRUN <<EOF\n" + "x\n" * 10_000,
        "\\\n" * 100_000,
    ],
    "docker-compose.yml": [
        LAUGHS,
        MERGES,
        "services: &s\n  web: *s\n",
        "services: {web: {build: ../../../../etc, command: python x.py}, y: {build: {context: /etc}}}\n",
        "{" * 50_000,
        "services: " + "[" * 30 + "]" * 30,
    ],
    "k8s.yaml": [
        "apiVersion: v1\nkind: List\ncontainers:\nitems: &i [" + "{kind: Pod, spec: {containers: [*i]}}, " * 400 + "]\n",
        "apiVersion: v1\nkind: Pod\nspec: {containers: {a: 3}}\n---\n" * 2_000,
    ],
    ".github/workflows/ci.yml": [
        "jobs: {a: {steps: [{run: '" + "echo && " * 40_000 + "'}]}}",
        "jobs: {a: {steps: [{run: \"python 'unclosed.py\"}, {run: python good.py, working-directory: /etc}]}}",
        "jobs: [1, 2]\n",
    ],
    "Procfile": ["web: " + "sh -c '" * 5_000, "web: npm start\n", "web: python /etc/passwd\n"],
    "x.service": ["[Service]\nExecStart=" + "/" * 400_000, "[Service]\nWorkingDirectory=/\nExecStart=/etc/passwd\n"],
    "CODEOWNERS": [
        "*a" * 200 + "b @x\n",
        "/**/a" * 90 + "/b @x\n",
        "[" * 100_000,
        "\n".join(f"/f{n}/** @t{n}" for n in range(30_000)),
        f"*.py @team{BELL}\n/{BELL} @x\n",
    ],
}  # fmt: skip
CASES = [(path, number) for path, texts in HOSTILE.items() for number in range(len(texts))]


def _links(repository: Repository) -> list[Link]:
    repository.index()
    opened = repository.open()
    try:
        return [*opened.links.all, *opened.links.about("a" * 200 + "/" + "a/" * 100 + "x.py")]
    finally:
        opened.close()


@pytest.fixture
def shop(repository: Repository) -> Repository:
    repository.write("good/package.json", '{"name": "good", "dependencies": {"express": "4"}}')
    repository.write("good/shop.py", "def sell():\n    pass\n")
    return repository


@pytest.mark.parametrize(("path", "number"), CASES, ids=[f"{path}-{number}" for path, number in CASES])
def test_a_hostile_project_file_costs_only_itself(shop: Repository, path: str, number: int) -> None:
    shop.write(path, HOSTILE[path][number])
    with at_most(DEADLINE):
        links = _links(shop)
    assert GOOD in {(link.type, link.source, link.target) for link in links}
    ends = [end for link in links for end in (link.source, link.target)]
    assert not [end for end in ends if ".." in end.split("/") or end.startswith("/") or "passwd" in end]
    assert all(text.isprintable() for link in links for text in (*link[:3], link.detail))


@pytest.mark.parametrize("project", sorted(path.name for path in (FIXTURES / "manifests").iterdir()))
def test_truncated_project_files_cost_only_themselves(project: str, tmp_path: Path) -> None:
    paths = [path for path in (FIXTURES / "manifests" / project).rglob("*") if path.is_file()]
    names = [str(path.relative_to(FIXTURES / "manifests" / project)) for path in paths]
    for share in (0.2, 0.5, 0.8):
        root = tmp_path / str(share)
        for path, name in zip(paths, names, strict=True):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            content = path.read_bytes()
            (root / name).write_bytes(content[: int(len(content) * share)])
        read_statements(Sources(root, names, names), dict.fromkeys(names, 0))  # does not raise


@settings(
    max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)  # fmt: skip
@given(path=st.sampled_from(sorted(HOSTILE)), data=st.data())
def test_no_content_of_a_project_file_raises(tmp_path: Path, path: str, data: st.DataObject) -> None:
    fixtures = [p for p in (FIXTURES / "manifests").rglob("*") if p.is_file() and p.name == path.rpartition("/")[2]]
    text = data.draw(st.sampled_from([p.read_text() for p in fixtures] or ["x: y\n"]))
    start, end = sorted((data.draw(st.integers(0, len(text))), data.draw(st.integers(0, len(text)))))
    text = text[:start] + data.draw(st.text(max_size=20)) + text[end:]
    (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / path).write_text(text, "utf-8")
    read_statements(Sources(tmp_path, [path], [path]), {path: 0})


# Long runs and deep nesting: what takes quadratic time exceeds the limit of a worker, what takes linear time is instant

_PUMPED = 200_000  # characters
_STARTS = {
    "requirements.txt": "x",
    "setup.cfg": "[metadata]\nname = x\n[options]\ninstall_requires =\n  x",
    "setup.py": "setup(name='x', ",
    "pyproject.toml": "[project]\nname = 'x'\ndependencies = ['",
    "package.json": '{"name": "x", "dependencies": {"y": "',
    "go.mod": "module x\nrequire ",
    "Cargo.toml": "[dependencies]\n",
    "pom.xml": "<project><artifactId>",
    "build.gradle": "api ",
    "settings.gradle": "project(':a').projectDir = file(",
    "App.csproj": "<Project><ItemGroup><PackageReference Include='",
    "Gemfile": "gem 'x', ",
    "Dockerfile": "FROM x\nCMD ",
    "Procfile": "web: ",
    "docker-compose.yml": "services:\n  web:\n    command: ",
    "k8s.yaml": "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - image: ",
    ".github/workflows/ci.yml": "jobs:\n  a:\n    steps:\n    - run: ",
    "x.service": "[Service]\nExecStart=",
    "CODEOWNERS": "* ",
}
_RUNS = (
    ' ', 'a', 'a.', 'a-', '[', '(', '{', '"', "'", '"a:b ', '\\', ',', ':',
    '/', '../', '$', '${a', '${a:-', '@', 'a@', '#', '*', '<', '<a>', '=', '==1 ',
    '-a ', 'api ', 'api(', '&&', '| ', 'a=1 ', 'a;', '\n', '\\\n', '\t\n', '- a\n', '[a]\n',
)  # fmt: skip


@pytest.mark.parametrize("path", sorted(_STARTS))
def test_long_runs_in_a_project_file_are_read_in_linear_time(path: str, tmp_path: Path) -> None:
    sizes = {}
    for number, run in enumerate(_RUNS):
        folder = f"{number}/" if path != "CODEOWNERS" else ""
        text = _STARTS[path] + run * (_PUMPED // len(run)) + "\x01$"
        if path == "CODEOWNERS":
            with at_most(1):
                parse_rules(text)
            continue
        (tmp_path / folder / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / folder / path).write_text(text, "utf-8")
        sizes[folder + path] = len(text)
    _, problems = read_statements(Sources(tmp_path, sizes, sizes), sizes)
    slow = {name: problem for name, problem in problems.items() if "too long" in problem or "memory" in problem}
    assert slow == {}


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("requirements.txt", "x " + "==1 " * 40 + "$\n"),
        ("Cargo.toml", "a." * 240_000 + "b = 1\n"),
        ("Cargo.toml", "[" + "a . " * 120_000 + "b]\n"),
        ("Cargo.toml", '[dependencies]\n"a"' + '."b"' * 120_000 + " = 1\n"),
        ("Cargo.toml", "[" + r'"\"" . ' * 50_000 + "b]\n"),
        ("pyproject.toml", "x = {" + "a." * 240_000 + "b = 1}\n"),
        ("build.gradle", "api" + " " * 400_000),
        ("CODEOWNERS", "* " + "a" * 480_000 + "\n"),
    ],
)
def test_slow_project_files_are_read_at_once(path: str, text: str, tmp_path: Path) -> None:
    (tmp_path / path).write_text(text, "utf-8")
    _, problems = read_statements(Sources(tmp_path, [path], [path]), {path: len(text)})
    assert not [problem for problem in problems.values() if "too long" in problem]


def _hang(_sources: Sources, _path: str) -> None:
    while True:
        pass


def test_a_project_file_that_hangs_its_reader_is_named(shop: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(manifests.readers(), re.compile("bad/hang"), _hang)
    sizes = dict.fromkeys(["bad/hang", "good/package.json"], 100)
    statements, problems = read_statements(Sources(shop.root, sizes, sizes), sizes)
    assert [module.manifest for module in statements.modules] == ["good/package.json"]
    assert list(problems) == ["bad/hang"]
    assert "too long" in problems["bad/hang"]


def test_keys_of_toml_have_a_limit_that_people_do_not_reach() -> None:
    assert parse_toml("a.'b'.\"c\" . d = 1")["a"]["b"]["c"]["d"] == 1
    assert parse_toml("[" + "a." * 31 + "b]\n")
    assert parse_toml("x = '" + "a." * 100 + "'\n")["x"] == "a." * 100
    with pytest.raises(ValueError, match="more than 32 parts"):
        parse_toml("\n[" + "a." * 40 + "b]\n")


def test_a_linked_manifest_is_not_read(shop: Repository, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "requirements.txt").write_text("secret-package\n")
    (shop.root / "requirements.txt").symlink_to(outside / "requirements.txt")
    (shop.root / "linked").symlink_to(outside)
    os.mkfifo(shop.root / "Gemfile")
    assert {link.target for link in _links(shop)} == {"dependency:express"}


def test_control_characters_of_names_do_not_reach_the_terminal(shop: Repository) -> None:
    shop.write("Procfile", f"web{BELL}: python good/shop.py\n'{BELL}\nok: python good/shop.py '{BELL}'\n")
    shop.write("CODEOWNERS", f"* @team{BELL}\n")
    shop.commit()
    _links(shop)
    for command in (["impact", "sell"], ["owners", "good/shop.py"], ["graph", "sell", "--format", "json"]):
        done = assay(shop.root, *command)
        assert "\x07" not in done.out
        assert "\x1b" not in done.out


def test_matching_owners_takes_no_exponential_time() -> None:
    rules = OwnerRules(parse_rules("*a" * 150 + "b @x\n" + "/**/a" * 90 + "/b @x\n"))
    with at_most(DEADLINE):
        assert rules.of("/".join(["a" * 200] * 20)) == []


# what is stored


def _written(shop: Repository) -> Path:
    shop.index()
    return shop.home.folder / stated.NAME


@pytest.mark.parametrize("damage", ["empty", "garbage", "truncated", "other arrays", "numbers"])
def test_damaged_statements_are_refused_and_written_again(shop: Repository, damage: str) -> None:
    path = _written(shop)
    content = path.read_bytes()
    if damage == "other arrays":
        np.savez(path, key=np.frombuffer(b"1 x", "u1"))
    elif damage == "numbers":
        rule = OwnerRule("*", ("@x",), 1)
        stated.write(path, "x", Statements(owners_file="CODEOWNERS", owner_rules=[rule._replace(line="no")]))  # type: ignore[arg-type]
    else:
        path.write_bytes({"empty": b"", "garbage": b"x" * 5000, "truncated": content[: len(content) // 2]}[damage])
    opened = shop.open()
    with pytest.raises(UnusableIndex, match="assay index"):
        opened.links  # noqa: B018
    opened.close()
    assert GOOD in {(link.type, link.source, link.target) for link in _links(shop)}


def test_statements_of_a_clone_name_only_what_the_index_has(shop: Repository) -> None:
    path = _written(shop)
    deployed = stated.Deployed("../../etc/passwd", "x", 1, "u"), stated.Deployed("good/shop.py::gone", "x", 1, "u")
    stated.write(path, "forged", Statements(deployed=deployed))
    opened = shop.open()
    assert [link.source for link in opened.links.all] == ["good/shop.py"]
    opened.close()


def test_a_huge_array_in_the_statements_is_refused(shop: Repository) -> None:
    path = _written(shop)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(
            "key.npy", b"\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }\n"
        )
    opened = shop.open()
    with pytest.raises(UnusableIndex):
        opened.links  # noqa: B018
    opened.close()
