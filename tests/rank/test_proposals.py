"""Candidates without a word of the task in them, and the precedence of what the user says."""

from __future__ import annotations

from pathlib import Path

from assay.core.packs import Learned
from assay.rank.engine import Engine
from assay.rank.profile import PROFILES, Profile
from assay.rank.query import clauses, parse_task
from assay.rank.signals.classes import EquivalenceClass
from support.command import assay
from support.repository import Repository


def _symbols(repository: Repository, task: str, profile: Profile | None = None, k: int = 5) -> list[str]:
    index = repository.open()
    found = [ranked.item.symbol for ranked in Engine(index, profile or Profile()).ranked(task, k)]
    index.close()
    return found


def test_a_symbol_is_found_by_the_message_of_a_commit_that_changed_it(repository: Repository) -> None:
    repository.write("letters.py", "def write_to(customer):\n    return customer\n")
    repository.commit("start")
    repository.write("letters.py", "def write_to(customer):\n    return customer, 'dear'\n")
    repository.commit("Complaints are answered politely")
    repository.index()
    assert "write_to" in _symbols(repository, "politely answered complaints")
    assert _symbols(repository, "politely answered complaints", PROFILES["hand-tuned"]) == []
    assert _symbols(repository, "politely answered complaints", PROFILES["no-history"]) == []


def test_a_symbol_is_found_by_the_section_of_the_manual_that_mentions_it(repository: Repository) -> None:
    repository.write("letters.py", "def write_to(customer):\n    return customer\n")
    repository.write("docs/manual.md", "# Politeness\n\nComplaints are answered by `write_to`.\n")
    repository.index()
    assert _symbols(repository, "politeness about complaints") == ["write_to"]
    assert "write_to" in assay(repository.root, "context", "politeness about complaints").out


def test_a_file_that_the_task_names_is_no_result_itself(repository: Repository) -> None:
    repository.write("gates.py", "def open_weir(level):\n    return level\n")
    repository.write("other.py", "def close(level):\n    return level\n")
    repository.index()
    found = _symbols(repository, "what does gates.py do", k=10)
    assert found[0] == "open_weir"
    assert "" not in found


def test_every_clause_of_a_long_task_proposes_its_own_candidates(repository: Repository) -> None:
    crowd = "".join(f"def invoice_print_{n}(invoice):\n    return invoice\n\n\n" for n in range(40))
    repository.write("crowd.py", crowd)
    repository.write("mail.py", "def greet_subscriber(letter):\n    return letter\n")
    repository.index()
    task = "print every invoice, when the subscriber letter is greeted"
    assert parse_task(task, Profile()).clauses == (("print", "everi", "invoic"), ("subscrib", "letter", "greet"))
    index = repository.open()
    channel = Engine(index, Profile()).rank(task).channels["clauses"].items
    second = index.item(channel[1]).symbol
    index.close()
    assert second == "greet_subscriber"  # taken in turn


def test_sentences_are_clauses_and_a_pasted_log_is_bounded() -> None:
    assert clauses("The basket is empty. Prices vanish") == [("basket", "empti"), ("price", "vanish")]
    assert len(clauses("\n".join(f"zebra number{n} failed" for n in range(500)))) == 12


def test_the_projects_own_class_is_first_whatever_else_matches(repository: Repository) -> None:
    repository.write("store.py", "class Vault:\n    pass\n")
    repository.write("keep.py", "".join(f"def keep_things_{n}(things):\n    return things\n\n\n" for n in range(12)))
    repository.index()
    own = EquivalenceClass("PERSISTENCE", ("keep things",), ("Vault",), weight=1.0)
    index = repository.open()
    for profile in (Profile(), PROFILES["hand-tuned"]):
        ranking = Engine(index, profile, classes=(own,)).rank("how do we keep things")
        assert index.item(ranking.best(1)[0]).symbol == "Vault"
        assert ranking.scores.max() == 1
    index.close()


def test_not_useful_lowers_a_result(repository: Repository) -> None:
    repository.write("keep.py", "".join(f"def keep_things_{n}(things):\n    return things\n\n\n" for n in range(12)))
    repository.index()
    index = repository.open()
    engine = Engine(index, Profile())
    first, *_ = engine.rank("keep things").best(1)
    after = engine.rank("keep things", Learned(feedback={first: -1.0})).best(12)
    index.close()
    assert after.index(first) > 0


def test_a_path_in_the_task_wins_over_what_was_learned(repository: Repository, tmp_path: Path) -> None:
    repository.write(
        "app/keep.py", "".join(f"def keep_things_{n}(things):\n    return things\n\n\n" for n in range(12))
    )
    repository.write("app/store.py", "def encode(rows):\n    return rows\n")
    repository.index()
    trace = 'keep things fails\n  File "/srv/app/store.py", line 1, in encode\nValueError: bad things'
    assert _symbols(repository, trace)[0] == "encode"
