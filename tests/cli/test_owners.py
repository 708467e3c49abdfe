"""`assay owners`: whom to ask about a file or a symbol; and owners and deployments in `context --pr`."""

from __future__ import annotations

import pytest

import assay as package
from support.command import assay
from support.repository import Repository

CODE = "def pay(amount):\n    return amount\n\n\ndef refund(amount):\n    return -amount\n"


@pytest.fixture
def shop(repository: Repository) -> Repository:
    repository.write("shop/pay.py", CODE)
    repository.write("main.py", "from shop.pay import pay\n\n\ndef main():\n    return pay(1)\n\n\nmain()\n")
    repository.write("Procfile", "web: python main.py\n")
    repository.write(".github/CODEOWNERS", "* @shop/all\n/shop/ @shop/payments @zoe\n/deploy/ @shop/ops\n")
    repository.write("deploy/values.txt.erb", "x\n")
    repository.commit("Initial commit")
    repository.write("shop/pay.py", CODE.replace("return amount", "return amount + 1"))
    repository.commit("Charge one more")
    repository.index()
    return repository


def test_a_symbol_has_owners_with_their_rule_authors_and_the_last_change(shop: Repository) -> None:
    done = assay(shop.root, "owners", "pay")
    assert done.code == 0
    assert done.lines[0] == "shop/pay.py::pay"
    assert done.lines[1].split() == ["owners", "@shop/payments", ".github/CODEOWNERS:2", "(/shop/)"]
    assert done.lines[2].split()[0] == "@zoe"
    assert done.lines[3].split()[:5] == ["authors", "t", "1", "commit", "(100%),"]
    assert done.lines[4].endswith("Charge one more")


def test_a_symbol_without_commits_of_its_own_shows_those_of_its_file_and_says_so(shop: Repository) -> None:
    done = assay(shop.root, "owners", "refund", "--format", "json").json
    (answer,) = done["owners"]
    assert answer["of_file"] is True
    assert answer["commits"] == 1
    assert "those of the file" in assay(shop.root, "owners", "refund").out


def test_the_json_has_rules_authors_and_the_last_change(shop: Repository) -> None:
    (answer,) = assay(shop.root, "owners", "shop/pay.py", "--format", "json").json["owners"]
    assert answer["place"] == "shop/pay.py"
    assert answer["rules"][0] == {
        "owner": "@shop/payments", "path": ".github/CODEOWNERS", "line": 2, "pattern": "/shop/",
    }  # fmt: skip
    assert [(author["name"], author["commits"], author["share"]) for author in answer["authors"]] == [("t", 1, 1.0)]
    assert answer["last"]["commit"] == shop.git("rev-parse", "HEAD").strip()
    assert answer["last"]["subject"] == "Charge one more"
    assert answer["of_file"] is False


def test_a_file_that_is_not_indexed_has_owners_too(shop: Repository) -> None:
    (answer,) = assay(shop.root, "owners", "deploy/values.txt.erb", "--format", "json").json["owners"]
    assert [rule["owner"] for rule in answer["rules"]] == ["@shop/ops"]


def test_a_place_that_does_not_exist_is_an_error(shop: Repository) -> None:
    for place in ("absent.py", "../outside.py", "/etc/passwd"):
        done = assay(shop.root, "owners", place)
        assert done.code == 2
        assert done.err.startswith("assay: ")


def test_nobody_is_exit_code_1(repository: Repository) -> None:
    repository.write("shop.py", CODE)
    repository.index()
    done = assay(repository.root, "owners", "shop.py")
    assert done.code == 1
    assert "no rule of a CODEOWNERS file matches" in done.out


def test_a_review_names_owners_and_affected_deployments(shop: Repository) -> None:
    shop.write("shop/pay.py", CODE.replace("return amount", "return amount + 2"))
    shop.index()
    with package.open(shop.root) as opened:
        sections = {section.name: section.said for section in opened.review().pack.heading.sections}
    assert sections["owners"] == "@shop/payments (1 file), @zoe (1 file)"
    assert sections["deployments"] == "Procfile#web"


def test_a_repository_without_either_has_no_such_sections(repository: Repository) -> None:
    repository.write("shop.py", CODE)
    repository.commit()
    repository.write("shop.py", CODE.replace("-amount", "0"))
    repository.index()
    with package.open(repository.root) as opened:
        names = [section.name for section in opened.review().pack.heading.sections]
    assert "owners" not in names
    assert "deployments" not in names
