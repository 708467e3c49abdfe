"""assay.toml: settings, validation errors, and the commands that read each setting."""

from __future__ import annotations

import dataclasses
import json
import os
import pty
import re
import shutil
import subprocess
import tempfile
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.config.configuration import BadConfiguration, Configuration, ContextSettings, load
from assay.errors import AssayError
from assay.rank import profile as profile_settings
from assay.rank.profile import PROFILES, SEED, Profile, flatten, from_table, settings_of
from support.command import COMMAND, ENVIRONMENT, Done, assay
from support.paths import ROOT
from support.repository import Repository
from support.waiting import PATIENCE

GUIDE = ROOT / "docs/guides/configuration.md"
SHOP = """\
def apply_discounts(amount, discounts):
    return take_off(amount, discounts)


def take_off(amount, discounts):
    return amount - sum(discounts)


def unrelated():
    return "discounts"
"""
OWN = """\
[context]
profile = "mine"
budget = 700
k = 2
format = "json"

[profile.mine]
base = "lexical"
coverage = 0.5

[classes.rebate]
phrases = ["money back"]
targets = ["take_off"]
"""
GOLDEN = '{"id": "q1", "question": "apply discounts", "expected_symbols": ["apply_discounts"]}\n'
TASK = "apply discounts to an amount"


@pytest.fixture
def shop(repository: Repository) -> Repository:
    repository.write("shop.py", SHOP)
    repository.write("golden.jsonl", GOLDEN)
    repository.commit()
    repository.index()
    return repository


def _loaded(folder: Path, text: str) -> Configuration:
    (folder / "assay.toml").write_text(text, "utf-8")
    return load(folder)


def _problems(folder: Path, text: str) -> list[str]:
    with pytest.raises(BadConfiguration) as raised:
        _loaded(folder, text)
    return [line.removeprefix(f"{folder}/assay.toml") for line in str(raised.value).splitlines()]


# -- what it may say ---------------------------------------------------------------------------------------------------


def test_without_a_file_everything_has_its_default(tmp_path: Path) -> None:
    assert load(tmp_path) == Configuration()
    assert load(tmp_path).profile() == Profile()


@pytest.mark.parametrize("text", ["", "\ufeff[context]\r\n", "# nothing\n[profile]\n[classes]\n"])
def test_a_file_that_says_nothing_changes_nothing(tmp_path: Path, text: str) -> None:
    found = _loaded(tmp_path, text)
    assert (found.context, found.profiles, found.classes) == (ContextSettings(), PROFILES, ())


def test_what_it_says_counts_and_the_rest_has_its_default(tmp_path: Path) -> None:
    found = _loaded(tmp_path, '[context]\nbudget = 9\n[classes.a]\nphrases = ["b c"]\ntargets = ["d_e"]\n')
    assert found.context == ContextSettings(budget=9)
    assert [(one.concept, one.phrases, one.targets) for one in found.classes] == [("a", ("b c",), ("d_e",))]


def test_a_profile_of_ones_own_is_its_base_with_changes(tmp_path: Path) -> None:
    found = _loaded(tmp_path, OWN)
    assert (
        found.profile() == found.profile("mine") == dataclasses.replace(PROFILES["lexical"], name="mine", coverage=0.5)
    )
    assert found.profile("default") == Profile()


def test_in_a_table_of_weights_only_those_named_change() -> None:
    made = from_table("mine", {"edge_weights": {"calls": 3, "consumes_rpc": 1}, "kind_weights": {"class": 2}}, "here")
    standard = Profile()
    assert made.edge_weights == {**standard.edge_weights, "calls": 3.0, "consumes_rpc": 1.0}
    assert made.kind_weights == {**standard.kind_weights, "class": 2.0}
    assert Profile() == standard  # the base is untouched


@given(
    st.dictionaries(
        st.sampled_from([n for n, v in settings_of(Profile()).items() if type(v) in (int, float)]), st.integers(0, 1)
    )
)
def test_every_number_of_a_profile_can_be_set(table: dict[str, int]) -> None:
    made = settings_of(from_table("mine", table, "here"))
    assert made == {**settings_of(Profile()), **table}
    assert {name: type(value) for name, value in made.items()} == {
        n: type(v) for n, v in settings_of(Profile()).items()
    }


def test_settings_that_are_special_are_settings() -> None:
    """The tables of bounds and names speak of numbers that exist."""
    assert set(settings_of(Profile())) >= profile_settings._SHARES
    assert set(profile_settings._WEIGHT_KEYS) <= set(settings_of(Profile()))


@pytest.mark.parametrize("base", [name for name in PROFILES if name != SEED])
def test_a_profile_that_repeats_its_base_is_its_base(base: str) -> None:
    as_toml = json.loads(json.dumps(settings_of(PROFILES[base])))  # lists instead of tuples
    assert from_table("mine", {"base": base, **as_toml}, "here") == dataclasses.replace(PROFILES[base], name="mine")


# -- mistakes ----------------------------------------------------------------------------------------------------------

MISTAKES = {
    "[context]\nbudgett = 3": ": [context]: unknown setting 'budgett'. Did you mean 'budget'?",
    "[context]\nbudget = -1": ": [context] budget must be a whole number of at least 0, not -1",
    "[context]\nk = 0": ": [context] k must be a whole number of at least 1, not 0",
    "[context]\nk = 2.5": ": [context] k must be a whole number",
    "[context]\nk = true": ": [context] k must be a whole number",
    '[context]\nbudget = "many"': ": [context] budget must be a whole number of at least 0, not 'many'",
    '[context]\nformat = "jsn"': ": [context]: unknown format 'jsn'. Did you mean 'json'?",
    "[context]\nformat = 3": ": [context]: unknown format '3'.",
    '[context]\nprofile = "mien"\n[profile.mine]': ": [context]: unknown profile 'mien'. Did you mean 'mine'?",
    "[contxt]\nk = 3": ": unknown section 'contxt'. Did you mean 'context'?",
    "[index]\nexclude = []": ": unknown section 'index'. Known: context, search, ask, profile, classes",
    "context = 3": ": [context] must be a table, not 3",
    "[profile]\nmine = 3": ": [profile.mine] must be a table",
    "[profile.mine]\nwakl = 1": ": [profile.mine]: unknown setting 'wakl'. Did you mean 'walk'?",
    '[profile.mine]\nname = "x"': ": [profile.mine]: unknown setting 'name'.",
    '[profile.mine]\nwalk = "much"': ": [profile.mine] walk must be a number from 0 to 1,000,000,000, not 'much'",
    "[profile.mine]\nwalk = true": ": [profile.mine] walk must be a number",
    "[profile.mine]\nwalk = nan": ": [profile.mine] walk must be a number",
    "[profile.mine]\nwalk = inf": ": [profile.mine] walk must be a number",
    "[profile.mine]\nwalk = -0.1": ": [profile.mine] walk must be a number",
    f"[profile.mine]\nwalk = 1{'0' * 400}": ": [profile.mine] walk must be a number",
    "[profile.mine]\nrestart = 1.1": ": [profile.mine] restart must be a number from 0 to 1, not 1.1",
    "[profile.mine]\nsteps = 1.5": ": [profile.mine] steps must be a whole number",
    '[profile.mine]\nranker_model = "task"': ": [profile.mine] ranker_model: unknown ranker_model 'task'. Did you mean 'tasks'?",
    '[profile.mine]\nbase = "seed"': ": [profile.mine]: 'seed' replays a specification and has no settings; base yours on default,",
    "[profile.mine]\nchannels = {name = 1}": ": [profile.mine] channels: unknown weight 'name'. Did you mean 'names'?",
    "[profile.mine]\nfield_weights = [1, 2]": ": [profile.mine] field_weights must be a list of 7 numbers, not [1, 2]",
    "[profile.mine]\nfield_weights = 1": ": [profile.mine] field_weights must be a list of 7 numbers",
    "[profile.mine]\nedge_weights = 1": ": [profile.mine] edge_weights must be a table of numbers, not 1",
    "[profile.mine]\nedge_weights.cals = 1": ": [profile.mine] edge_weights: unknown weight 'cals'. Did you mean 'calls'?",
    "[profile.mine]\nedge_weights.documents = 1": ": [profile.mine] edge_weights.documents would do nothing: the walk only follows calls,",
    "[profile.mine]\nedge_weights.calls = []": ": [profile.mine] edge_weights.calls must be a number",
    '[profile.mine]\nbase = "defualt"': ": [profile.mine]: unknown base 'defualt'. Did you mean 'default'?",
    "[profile.mine]\nbase = []": ": [profile.mine]: unknown base '[]'",
    "[profile.default]\nwalk = 1": ": [profile.default]: 'default' is built in; give yours another name",
    "[search]\nembeder = 'lsa'": ": [search]: unknown setting 'embeder'. Did you mean 'embedder'?",
    "[search]\nembedder = 3": ': [search] embedder must be text, for example "lsa", not 3',
    "[search]\nembedder = ' '": ": [search] embedder must be text",
    "[search]\nvectors = 2": ": [search] vectors must be a number from 0 to 1, not 2",
    "[search]\nvectors = true": ": [search] vectors must be a number from 0 to 1, not True",
    "[search]\nk = 0": ": [search] k must be a whole number of at least 1, not 0",
    "[classes.a]\nphrases = []": ": class a: phrases must be a list",
    "[classes]\na = 3": ": class a must have phrases and targets",
    "[context]\nk = 1\nk = 2": ":3: not TOML: ",
    f"[context]\nk = 1{'0' * 5_000}": ": not TOML: ",
    f"[context]\nk = {'[' * 5_000}": ": not TOML: ",
    "[context\n": ":1: not TOML: ",
    '[context]\nformat = "': ":2: not TOML: ",
}  # fmt: skip


@pytest.mark.parametrize("text", MISTAKES)
def test_a_mistake_is_named_with_its_place_and_the_nearest_right_name(tmp_path: Path, text: str) -> None:
    (problem,) = _problems(tmp_path, text)
    assert problem.startswith(MISTAKES[text])


def test_every_mistake_is_named_at_once(tmp_path: Path) -> None:
    together = '[contxt]\n[context]\nk = 0\nformt = "x"\n[profile.a]\nx = 1\n[profile.b]\nwalk = ""\n[classes.c]\n'
    assert len(_problems(tmp_path, together)) == 6


def test_a_profile_with_a_mistake_can_still_be_named(tmp_path: Path) -> None:
    """Else its one mistake would look like two."""
    assert len(_problems(tmp_path, '[context]\nprofile = "mine"\n[profile.mine]\nx = 1')) == 1


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "assay.toml").write_bytes(b"[context]\nformat = '\xff'\n")
    with pytest.raises(BadConfiguration, match=r"assay\.toml:2: not UTF-8"):
        load(tmp_path)
    (tmp_path / "assay.toml").unlink()
    (tmp_path / "assay.toml").mkdir()
    with pytest.raises(BadConfiguration, match="cannot be read"):
        load(tmp_path)


# -- assay config ------------------------------------------------------------------------------------------------------


def test_config_says_where_every_setting_comes_from(shop: Repository) -> None:
    shop.write("assay.toml", OWN.replace("k = 2\n", ""))
    printed = assay(shop.root, "config", "--format", "json").json
    assert printed["file"] == str(shop.root / "assay.toml")
    rows = {row["name"]: (row["value"], row["origin"]) for row in printed["settings"]}
    assert rows["context.budget"] == (700, "assay.toml")
    assert rows["context.k"] == (50, "default")
    assert rows["profile.mine.base"] == ("lexical", "assay.toml")
    assert rows["profile.mine.coverage"] == (0.5, "assay.toml")
    assert rows["profile.mine.walk"] == (0, "profile lexical")
    assert rows["classes.rebate.targets"] == (["take_off"], "assay.toml")
    assert rows["classes.rebate.weight"] == (1.0, "default")
    assert {name for name in rows if name.startswith("profile.")} == {
        f"profile.mine.{name}" for name in ("base", *flatten(settings_of(PROFILES["lexical"])))
    }


def test_without_a_file_config_lists_the_defaults_and_the_built_in_profile(shop: Repository) -> None:
    printed = assay(shop.root, "config", "--format", "json").json
    assert printed["file"] is None
    assert {row["origin"] for row in printed["settings"]} == {"default", "built in"}
    assert {row["name"] for row in printed["settings"]} >= {"context.profile", "profile.default.walk"}


@pytest.mark.parametrize(
    "text",
    [
        None,
        OWN,
        '[profile."odd name"]\nkind_weights.class = 2\n[classes."é.\\u007f"]\nphrases = ["ö"]\ntargets = ["Name"]\n',
    ],
)
def test_what_config_prints_can_be_kept_as_the_file(shop: Repository, text: str | None) -> None:
    before = _loaded(shop.root, text) if text else load(shop.root)
    printed = assay(shop.root, "config").out
    after = _loaded(shop.root, printed)
    assert tomllib.loads(printed)
    assert (after.context, after.profiles, after.classes) == (before.context, before.profiles, before.classes)


def test_check_says_everything_that_is_wrong(shop: Repository) -> None:
    assert assay(shop.root, "config", "check").code == 0
    shop.write("assay.toml", OWN)
    assert assay(shop.root, "config", "check").out == f"{shop.root}/assay.toml: valid\n"
    shop.write("assay.toml", "[context]\nk = 0\nformt = 1\n")
    done = assay(shop.root, "config", "check")
    assert (done.code, len(done.lines)) == (1, 2)
    done = assay(shop.root, "config", "check", "--format", "json")
    assert (done.code, len(done.json["problems"])) == (1, 2)
    refused = assay(shop.root, "config")
    assert (refused.code, len(refused.err.splitlines())) == (2, 2)


def test_the_guide_shows_a_file_that_is_right(tmp_path: Path) -> None:
    (example,) = re.findall(r"^```toml\n(.*?)^```$", GUIDE.read_text("utf-8"), re.S | re.M)
    found = _loaded(tmp_path, example)
    assert found.profile().name == "careful"
    assert found.classes[0].concept == "sign-in"


# -- who heeds it ------------------------------------------------------------------------------------------------------


def test_context_does_as_the_file_says_unless_an_option_says_otherwise(shop: Repository) -> None:
    shop.write("assay.toml", OWN)
    by_file = assay(shop.root, "context", TASK).json
    assert by_file["budget"] == 700
    assert len(by_file["items"]) == 2
    by_option = assay(shop.root, "context", TASK, "--budget", "800", "-k", "1").json
    assert (by_option["budget"], len(by_option["items"])) == (800, 1)
    assert assay(shop.root, "context", TASK, "--format", "text").out.startswith("task: ")


def test_the_profile_of_the_file_ranks(shop: Repository) -> None:
    shop.write("assay.toml", OWN)
    asked = ("why", TASK, "apply_discounts", "--format", "json")
    own, standard = assay(shop.root, *asked).json, assay(shop.root, *asked, "--profile", "default").json
    assert (own["profile"], standard["profile"]) == ("mine", "default")
    assert own["explanations"][0]["factors"] != standard["explanations"][0]["factors"]
    assert "Did you mean 'mine'?" in assay(shop.root, *asked, "--profile", "mien").err


@pytest.mark.parametrize(
    "command", [["context", TASK], ["why", TASK, "take_off"], ["eval", "run", "--golden", "golden.jsonl"]]
)
def test_a_command_that_reads_a_wrong_file_refuses(shop: Repository, command: list[str]) -> None:
    shop.write("assay.toml", "[context]\nk = 0\n")
    done = assay(shop.root, *command)
    assert done.code == 2
    assert "[context] k must be" in done.err


def test_a_command_that_does_not_read_it_does_not_mind(shop: Repository) -> None:
    shop.write("assay.toml", "[context]\nk = 0\n")
    assert assay(shop.root, "symbols", "take_off").code == 0
    assert assay(shop.root, "index").code == 0


def _run(shop: Repository, system: str, *more: str) -> dict[str, Any]:
    done = assay(shop.root, "eval", "run", "--golden", "golden.jsonl", "--system", system, "--format", "json", *more)
    assert done.code == 0, done.err
    return dict(done.json)


def test_an_evaluation_measures_the_profile_in_use_and_stores_its_numbers(shop: Repository) -> None:
    shop.write("assay.toml", OWN)
    bare, named, standard = (_run(shop, system) for system in ("assay", "assay:mine", "assay:default"))
    assert [run["system"] for run in (bare, named, standard)] == ["assay:mine", "assay:mine", "assay:default"]
    assert bare["config"] == named["config"]
    assert bare["config"]["profile"] == "mine"
    assert bare["config"]["config"]["coverage"] == 0.5
    assert bare["config"]["config"]["classes"][0]["targets"] == ["take_off"]
    assert set(standard["config"]["config"]) == {"classes"}


def test_an_evaluation_without_a_file_is_described_as_ever(shop: Repository) -> None:
    run = _run(shop, "assay")
    assert run["system"] == "assay"
    assert set(run["config"]) == {"spec", "profile", "version", "cold_start", "index_fingerprint"}


def test_a_comparison_says_which_number_changed(shop: Repository) -> None:
    shop.write("assay.toml", OWN)
    before = _run(shop, "assay")["run_id"]
    shop.write("assay.toml", OWN.replace("coverage = 0.5", "coverage = 0.75"))
    after = _run(shop, "assay")["run_id"]
    assert "coverage 0.5 → 0.75" in assay(shop.root, "eval", "compare", before, after).out
    refused = assay(shop.root, "eval", "run", "--resume", before)
    assert "config changed since" in refused.err


# -- no index yet ------------------------------------------------------------------------------------------------------

ASKING = [
    ["context", TASK],
    ["why", TASK, "take_off"],
    ["symbols", "take_off"],
    ["impact", "take_off"],
    ["tests", "shop.py"],
]


@pytest.fixture
def bare(repository: Repository) -> Repository:
    """A repository without an index."""
    repository.write("shop.py", SHOP)
    repository.commit()
    return repository


@pytest.mark.parametrize("command", ASKING, ids=lambda command: command[0])
def test_a_question_builds_a_missing_index(bare: Repository, command: list[str]) -> None:
    done = assay(bare.root, *command)
    assert done.code == 0
    assert done.err.startswith("indexed 1 file in ")
    assert assay(bare.root, *command).err == ""


@pytest.mark.parametrize("command", [["status"], *([*command, "--no-refresh"] for command in ASKING)])
def test_other_commands_name_the_one_that_builds_it(bare: Repository, command: list[str]) -> None:
    done = assay(bare.root, *command)
    assert done.code == 2
    assert done.err == f"assay: {bare.root}: no index yet. Make one with: assay index {bare.root}\n"
    assert not (bare.root / ".assay").exists()


def test_a_question_builds_it_where_the_input_is_closed(bare: Repository) -> None:
    done = assay(bare.root, "symbols", "take_off", preexec_fn=lambda: os.close(0))
    assert (done.code, done.lines[0][:9]) == (0, "shop.py:5")


def test_two_at_once_build_one_index(bare: Repository) -> None:
    asked = [*COMMAND, "symbols", "take_off", "--index"]
    both = [subprocess.Popen(asked, cwd=bare.root, env=ENVIRONMENT, stdout=subprocess.PIPE) for _ in range(2)]
    assert [process.communicate()[0][:9] for process in both] == [b"shop.py:5"] * 2
    assert (bare.root / ".assay" / "current").read_text() == "000001\n"


@pytest.mark.parametrize("command", ASKING, ids=lambda command: command[0])
def test_with_index_it_is_built_without_asking(bare: Repository, command: list[str]) -> None:
    done = assay(bare.root, *command, "--index")
    assert done.code == 0, done.err
    assert done.err.startswith("indexed 1 file in ")
    assert assay(bare.root, *command, "--index").err == ""  # nothing to do, nothing to say


def test_with_index_what_changed_is_indexed_first(shop: Repository) -> None:
    shop.write("new.py", "def brand_new(): ...\n")
    assert assay(shop.root, "symbols", "brand_new", "--no-refresh").code == 1
    assert assay(shop.root, "symbols", "brand_new", "--no-refresh", "--index").code == 0


def _at_a_terminal(folder: Path, answer: str, *arguments: str) -> Done:
    """A command whose input and messages are a person's; its output goes to a file."""
    ours, theirs = pty.openpty()
    with tempfile.TemporaryFile("w+") as out:
        process = subprocess.Popen(
            [*COMMAND, *arguments], cwd=folder, env=ENVIRONMENT, stdin=theirs, stdout=out, stderr=theirs
        )
        os.close(theirs)
        os.write(ours, answer.encode())
        seen = b""
        try:
            while chunk := os.read(ours, 4096):
                seen += chunk
        except OSError:  # the other side is closed
            pass
        os.close(ours)
        code = process.wait(PATIENCE)
        out.seek(0)
        return Done(code, out.read(), seen.decode())


def test_at_a_terminal_a_repository_is_indexed_without_asking(bare: Repository) -> None:
    done = _at_a_terminal(bare.root, "", "symbols", "take_off")
    assert "Build it now?" not in done.err
    assert (done.code, done.lines[0][:9]) == (0, "shop.py:5")


@pytest.mark.parametrize("answer", ["y\n", "\n"])
def test_at_a_terminal_other_folders_are_asked_about(bare: Repository, answer: str) -> None:
    shutil.rmtree(bare.root / ".git")
    done = _at_a_terminal(bare.root, answer, "symbols", "take_off")
    assert f"{bare.root}: no index yet. Build it now? [Y/n]" in done.err
    assert (done.code, done.lines[0][:9]) == (0, "shop.py:5")
    assert "Build it now?" not in _at_a_terminal(bare.root, "", "symbols", "take_off").err


def test_at_a_terminal_a_no_is_taken(bare: Repository) -> None:
    shutil.rmtree(bare.root / ".git")
    done = _at_a_terminal(bare.root, "n\n", "context", TASK)
    assert (done.code, done.out) == (2, "")
    assert "Make one with: assay index" in done.err
    assert not (bare.root / ".assay").exists()


def test_a_profile_that_does_not_exist_is_an_error_for_people() -> None:
    with pytest.raises(AssayError, match=r"unknown profile 'defalt'\. Did you mean 'default'\?"):
        Configuration().profile("defalt")
