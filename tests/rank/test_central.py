"""Central types: the type that stands for a concept of the task is proposed first."""

from __future__ import annotations

import pytest

from assay.rank.engine import Engine
from assay.rank.profile import Profile
from assay.rank.signals.central import central_types
from support.repository import Repository


@pytest.fixture
def office(repository: Repository) -> Repository:
    repository.write("invoice.py", "class Invoice:\n    def total(self):\n        return 1\n")
    repository.write("link.py", "class InvoiceLink:\n    pass\n")
    repository.write("export.py", "from invoice import Invoice\n\n\nclass InvoiceExporter:\n    invoice: Invoice\n")
    for name in ("send", "pay", "print_out"):
        repository.write(f"{name}.py", f"from invoice import Invoice\n\n\ndef {name}(one: Invoice):\n    one.total()\n")
    repository.write("tests/test_links.py", "from link import InvoiceLink\n\n\ndef test_it():\n    InvoiceLink()\n")
    repository.write("customer.py", "class Customer:\n    pass\n")
    repository.index()
    return repository


def _central(repository: Repository, task: str) -> dict[str, tuple[float, int]]:
    """Score and number of user files of each type, best first."""
    index = repository.open()
    types = central_types(Engine(index, Profile()).read(task))
    found = {
        index.item(int(number)).symbol: (float(score), int(users))
        for number, score, users in sorted(
            zip(types.numbers, types.scores, types.users, strict=True), key=lambda row: -row[1]
        )
    }
    index.close()
    return found


def test_the_type_that_many_files_use_stands_for_the_concept(office: Repository) -> None:
    found = _central(office, "how are invoices exported to a customer")
    assert next(iter(found)) == "Invoice"
    assert found["Invoice"] == (1.0, 4)  # three functions and the exporter: not its own file, not tests


def test_tests_are_no_users(office: Repository) -> None:
    assert _central(office, "the link of an invoice")["InvoiceLink"] == (0.0, 0)


def test_a_type_whose_name_says_more_than_the_task_counts_less(office: Repository) -> None:
    office.write("use.py", "from export import InvoiceExporter\n\n\ndef use(it: InvoiceExporter):\n    return it\n")
    office.index()
    found = _central(office, "invoice")
    assert 0 < found["InvoiceExporter"][0] < 0.25 * found["Invoice"][0]  # precision squared, and its head is not named


def test_what_comes_first_in_the_task_counts_more(office: Repository) -> None:
    for name in ("a", "b", "c", "d"):
        office.write(f"{name}.py", f"from customer import Customer\n\n\ndef {name}(one: Customer):\n    return one\n")
    office.index()
    first, second = _central(office, "invoice of a customer"), _central(office, "customer of an invoice")
    assert [*first][:2] == ["Invoice", "Customer"]
    assert [*second][:2] == ["Customer", "Invoice"]


def test_a_task_that_names_no_type_has_none(office: Repository) -> None:
    assert _central(office, "zebra crossing") == {}
    index = office.open()
    assert not Engine(index, Profile()).rank("zebra crossing").scores.any()
    index.close()
