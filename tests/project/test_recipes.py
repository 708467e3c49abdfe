"""The CI recipes and pre-commit hooks, run in a clone of a small repository without a network."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.command import ENVIRONMENT, assay
from support.comments import Comment
from support.paths import ROOT
from support.repository import Repository
from support.waiting import PATIENCE

RECIPES = ROOT / "docs" / "recipes"
GITHUB = sorted(RECIPES.glob("github-*.yml"))
HOOKS = {hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())}

SHOP = '''\
def send_invoice(address):
    """Sends the invoice to the customer."""


def apply_discount(amount):
    """Takes off what the discount is worth."""
    return amount * 0.9


def store_basket(basket):
    """Writes the basket to the database."""
    return apply_discount(basket)
'''
GOLDEN = """\
queries:
  - {id: invoice, query: send the invoice to a customer, expected_symbols: [send_invoice]}
  - {id: discount, query: apply a discount to the amount, expected_symbols: [apply_discount]}
  - {id: basket, query: store the basket in the database, expected_symbols: [store_basket]}
"""
BROKEN = "def a(b):\n    return b\n\n\ndef c(d):\n    return a(d)\n"
# Stands in for gh: writes down what it was asked, lists the comments it is told of through the real jq where there is one.
GH = f"""\
#!{sys.executable}
import json, os, pathlib, subprocess, sys
asked = sys.argv[1:]
body = next((pathlib.Path(one.partition("=@")[2]).read_text() for one in asked if one.startswith("body=@")), None)
with open(os.environ["GH_LOG"], "a") as log:
    log.write(json.dumps({{"asked": asked, "body": body, "token": os.environ.get("GH_TOKEN")}}) + "\\n")
if "--jq" in asked:
    query = asked[asked.index("--jq") + 1]
    sys.stdout.write(subprocess.run(["jq", "-r", query], input=os.environ["COMMENTS"], capture_output=True, text=True, check=True).stdout)
"""


@dataclass
class Runner:
    """Runs the steps of a recipe as a runner of the forge would, in a clone."""

    folder: Path
    clone: Path
    environment: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        tools = self.folder / "bin"
        tools.mkdir(parents=True)
        for name, text in {
            "assay": f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m assay "$@"\n',
            "pip": '#!/bin/sh\nprintf "%s\\n" "$@" >> "$PIP_LOG"\n',
            "gh": GH,
        }.items():
            (tools / name).write_text(text)
            (tools / name).chmod(0o755)
        self.environment = ENVIRONMENT | {
            "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
            "PIP_LOG": str(self.folder / "pip.log"),
            "GH_LOG": str(self.folder / "gh.log"),
            "RUNNER_TEMP": str(self.folder),
            "GITHUB_ACTIONS": "true",
            "GITHUB_STEP_SUMMARY": str(self.folder / "summary.md"),
            "GITHUB_SERVER_URL": "https://github.com",
            "GITHUB_REPOSITORY": "shop/shop",
            "GITHUB_BASE_REF": "main",
            "COMMENTS": "[]",
        }

    def run(self, script: str, **variables: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            ["bash", "-e", "-c", script],  # as GitHub runs a step
            cwd=self.clone,
            env=self.environment | variables,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert "Traceback" not in done.stderr, done.stderr
        return done

    def job(self, recipe: Path, **variables: str) -> dict[str, int]:
        """The exit code of each step that runs something, until one fails; those that must run all the same do."""
        read = yaml.safe_load(recipe.read_text())
        (job,) = read["jobs"].values()
        codes: dict[str, int] = {}
        for step in job["steps"]:
            if "run" in step and (not any(codes.values()) or "cancelled" in step.get("if", "")):
                own = {name: variables.get(name, "") for name in step.get("env", {})}
                codes[step["name"]] = self.run(step["run"], **read["env"], **own).returncode
        return codes

    @property
    def summary(self) -> str:
        return Path(self.environment["GITHUB_STEP_SUMMARY"]).read_text()

    @property
    def asked(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in Path(self.environment["GH_LOG"]).read_text().splitlines()]


@pytest.fixture
def origin(repository: Repository) -> Repository:
    """A repository with a golden set and the baseline that its guide tells to make."""
    repository.write("shop.py", SHOP)
    repository.write("eval/golden.yaml", GOLDEN)
    repository.write(".gitignore", ".assay\n")
    repository.commit()
    repository.index()
    assert assay(repository.root, "eval", "run", "--golden", "eval/golden.yaml").code == 0
    assert assay(repository.root, "eval", "baseline", "set").code == 0
    repository.commit("baseline")
    return repository


@pytest.fixture
def runner(origin: Repository, tmp_path: Path) -> Runner:
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", str(origin.root), str(clone)], check=True)
    subprocess.run(["git", "checkout", "-q", "-b", "feature"], cwd=clone, check=True)
    return Runner(tmp_path / "runner", clone)


# what stands in the files


def steps(recipe: Path) -> list[dict[str, Any]]:
    return [step for job in yaml.safe_load(recipe.read_text())["jobs"].values() for step in job["steps"]]


@pytest.mark.parametrize("recipe", GITHUB, ids=lambda path: path.stem)
def test_nothing_that_others_write_is_put_into_a_script(recipe: Path) -> None:
    assert not [step["run"] for step in steps(recipe) if "${{" in step.get("run", "")]


@pytest.mark.parametrize("recipe", GITHUB, ids=lambda path: path.stem)
def test_actions_are_named_with_their_major_version(recipe: Path) -> None:
    used = [step["uses"] for step in steps(recipe) if "uses" in step]
    assert used
    assert all(re.fullmatch(r"actions/[a-z-]+@v\d+", name) for name in used), used


@pytest.mark.parametrize("recipe", GITHUB, ids=lambda path: path.stem)
def test_they_may_do_no_more_than_they_need(recipe: Path) -> None:
    read = yaml.safe_load(recipe.read_text())
    events = read[True]  # YAML 1.1 takes `on` for a truth value
    assert "pull_request" in events
    assert "pull_request_target" not in events
    comments = {"pull-requests": "write"} if recipe.stem == "github-review" else {}
    assert read["permissions"] == {"contents": "read"} | comments
    checkout = steps(recipe)[0]["with"]
    assert checkout["persist-credentials"] is False
    assert checkout["fetch-depth"] == 0
    with_token = [step["name"] for step in steps(recipe) if "GH_TOKEN" in step.get("env", {})]
    assert with_token == (["Comment"] if comments else [])


def test_the_guide_names_every_recipe() -> None:
    guide = (ROOT / "docs" / "guides" / "ci.md").read_text()
    assert all(f"../recipes/{recipe.name}" in guide for recipe in RECIPES.glob("*.yml"))
    assert all(name in guide for name in HOOKS)


# the gate


def test_the_gate_passes_what_is_as_good_as_the_baseline(runner: Runner) -> None:
    assert runner.job(RECIPES / "github-gate.yml") == {"Install": 0, "Index": 0, "Gate": 0, "Report": 0}
    assert "## assay gate passed" in runner.summary
    kept = {path.name for path in (runner.clone / "retrieval").iterdir()}
    assert {"runs.db", "gate.xml", "report.html"} <= kept


def test_the_gate_fails_what_is_worse_says_how_to_renew_it_and_keeps_the_report(runner: Runner) -> None:
    (runner.clone / "shop.py").write_text(BROKEN)
    assert runner.job(RECIPES / "github-gate.yml") == {"Install": 0, "Index": 0, "Gate": 1, "Report": 0}
    assert "## assay gate failed" in runner.summary
    renewal = re.search(r"assay eval baseline set \S+ --runs \S+", runner.summary)
    assert renewal is not None
    assert runner.run(renewal[0]).returncode == 0
    assert runner.run("assay eval gate --golden eval/golden.yaml").returncode == 0


def test_the_gate_of_gitlab_runs_the_same(runner: Runner) -> None:
    job = yaml.safe_load((RECIPES / "gitlab-gate.yml").read_text())["retrieval"]
    done = runner.run("\n".join(job["script"]), **job["variables"])
    assert done.returncode == 0, done.stderr
    assert (runner.clone / job["artifacts"]["reports"]["junit"]).exists()


# the review


def change(runner: Runner) -> None:
    (runner.clone / "shop.py").write_text(SHOP.replace("0.9", "0.8"))
    subprocess.run(
        ["git", "-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qam", "x"], cwd=runner.clone, check=True
    )


def test_a_review_is_posted_as_a_comment_and_stands_in_the_summary(runner: Runner) -> None:
    change(runner)
    runner.environment["COMMENTS"] = "[]"
    needs_jq()
    codes = runner.job(RECIPES / "github-review.yml", HEAD_SHA="abc123", NUMBER="7", GH_TOKEN="secret")
    assert codes == {"Install": 0, "Index": 0, "Review": 0, "Comment": 0}
    _, posted = runner.asked
    assert posted["asked"][:5] == ["api", "--silent", "--method", "POST", "repos/shop/shop/issues/7/comments"]
    assert posted["token"] == "secret"
    assert posted["body"] == runner.summary
    read = Comment(posted["body"])
    assert "1 file changed since origin/main" in read.first_sight
    assert "store_basket" in read.code
    assert "https://github.com/shop/shop/blob/abc123/shop.py#L5" in read.links


def test_the_comment_of_before_is_renewed_and_no_one_elses(runner: Runner) -> None:
    change(runner)
    needs_jq()
    runner.environment["COMMENTS"] = json.dumps(
        [
            {"id": 1, "user": {"login": "mallory"}, "body": "<!-- assay -->\nmine"},
            {"id": 2, "user": {"login": "github-actions[bot]"}, "body": "of another action <!-- assay -->"},
            {"id": 3, "user": {"login": "github-actions[bot]"}, "body": "<!-- assay -->\nold"},
            {"id": 4, "user": {"login": "github-actions[bot]"}, "body": "<!-- assay -->\nolder still"},
        ]
    )
    runner.job(RECIPES / "github-review.yml", HEAD_SHA="abc123", NUMBER="7", GH_TOKEN="secret")
    _, renewed = runner.asked
    assert renewed["asked"][2:5] == ["--method", "PATCH", "repos/shop/shop/issues/comments/3"]


def needs_jq() -> None:
    if shutil.which("jq") is None:
        pytest.skip("what finds the comment is run by jq, as gh has it built in")


def test_nothing_changed_is_a_comment_too(runner: Runner) -> None:
    needs_jq()
    codes = runner.job(RECIPES / "github-review.yml", HEAD_SHA="abc123", NUMBER="7")
    assert set(codes.values()) == {0}
    assert "nothing changed since origin/main" in runner.summary


def test_a_base_that_is_not_there_fails_the_review(runner: Runner) -> None:
    runner.environment["GITHUB_BASE_REF"] = "gone"
    assert runner.job(RECIPES / "github-review.yml", HEAD_SHA="abc123")["Review"] == 1
    assert not Path(runner.environment["GH_LOG"]).exists()


@pytest.mark.parametrize("name", ["$(touch pwned)", "`touch pwned`", "main; touch pwned", "--output=pwned"])
def test_a_branch_is_never_run_as_a_command(runner: Runner, name: str) -> None:
    runner.environment["GITHUB_BASE_REF"] = name
    assert runner.job(RECIPES / "github-review.yml", HEAD_SHA=name)["Review"] == 1
    assert not (runner.clone / "pwned").exists()


# the hooks


def hook(runner: Runner, name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """As pre-commit runs it: the entry, then the arguments of its configuration; no file names."""
    entry = [*shlex.split(HOOKS[name]["entry"]), *arguments]
    return runner.run(shlex.join(entry), GITHUB_ACTIONS="")


def test_hooks_are_for_the_repository_not_for_files() -> None:
    for one in HOOKS.values():
        assert (one["language"], one["pass_filenames"], one["always_run"]) == ("python", False, True)
        assert one["require_serial"], "two at once would wait for each other"
    assert "pre-commit" not in HOOKS["assay-eval-gate"]["stages"], "too slow for every commit"
    assert "pre-push" in set(HOOKS["assay-index"]["stages"]) & set(HOOKS["assay-eval-gate"]["stages"])


def test_the_hooks_index_and_gate(runner: Runner) -> None:
    assert hook(runner, "assay-index").returncode == 0
    passed = hook(runner, "assay-eval-gate", "--golden", "eval/golden.yaml")
    assert (passed.returncode, passed.stdout.splitlines()[-1]) == (0, "gate passed")
    (runner.clone / "shop.py").write_text(BROKEN)
    assert hook(runner, "assay-index").returncode == 0
    failed = hook(runner, "assay-eval-gate", "--golden", "eval/golden.yaml")
    assert failed.returncode == 1
    assert "renew the baseline and commit it: assay eval baseline set" in failed.stdout


def test_a_gate_without_anything_to_hold_against_asks_nothing(runner: Runner) -> None:
    (runner.clone / "eval" / "baseline.json").unlink()
    done = hook(runner, "assay-eval-gate", "--golden", "eval/golden.yaml")
    assert done.returncode == 2
    assert "nothing to compare the run with" in done.stderr
    assert not (runner.clone / ".assay" / "runs.db").exists()


def test_a_run_and_a_golden_set_are_one_too_many(runner: Runner) -> None:
    done = hook(runner, "assay-eval-gate", "latest", "--golden", "eval/golden.yaml")
    assert done.returncode == 2
    assert "leave out --golden, or leave out RUN" in done.stderr
