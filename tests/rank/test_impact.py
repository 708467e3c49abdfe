"""Impact analysis: edge types that propagate a change, and those that do not."""

from __future__ import annotations

from assay.rank.impact import affected_tests, impact
from assay.rank.symbols import require
from support.repository import Repository

_CODE = """
def loud(function):
    return function


class Base:
    def run(self):
        return 0


class Child(Base):
    @loud
    def run(self):
        return helper()


def helper():
    return 1


def start(task: Base):
    return task.run()
"""


def _affected(repository: Repository, name: str, everything: bool = False) -> set[str]:
    opened = repository.open()
    return {a.item.symbol for a in impact(opened, require(opened, name), everything=everything)}


def test_a_decorator_is_felt_by_what_it_decorates_but_not_the_other_way_round(repository: Repository) -> None:
    repository.write("app.py", _CODE)
    repository.index()
    assert "Child.run" in _affected(repository, "loud")
    assert "loud" not in _affected(repository, "Child.run")


def test_an_override_is_felt_by_those_who_call_the_base(repository: Repository) -> None:
    repository.write("app.py", _CODE)
    repository.index()
    assert _affected(repository, "Child.run") == {"start"}
    assert _affected(repository, "helper") == {"Child.run", "start"}


def test_types_and_inheritance_are_followed_only_when_asked_for(repository: Repository) -> None:
    repository.write("app.py", _CODE)
    repository.index()
    assert "Child" not in _affected(repository, "Base")
    assert {"Child", "start"} <= _affected(repository, "Base", everything=True)


def test_a_test_that_reaches_a_change_through_two_files_is_found(repository: Repository) -> None:
    repository.write("app.py", _CODE)
    repository.write("service.py", "from app import start, Child\n\ndef serve():\n    return start(Child())\n")
    repository.write(
        "tests/test_service.py", "from service import serve\n\ndef test_serves():\n    assert serve() == 1\n"
    )
    repository.write("tests/test_other.py", "def test_nothing():\n    assert True is not False\n")
    repository.index()
    opened = repository.open()
    found = {a.item.id for a in affected_tests(opened, require(opened, "helper"))}
    assert "tests/test_service.py::test_serves" in found
    assert not any(one.startswith("tests/test_other.py") for one in found)
