"""Learning from feedback: weights of records, their expiry, isolation of sessions; in a file and in PostgreSQL."""

from __future__ import annotations

import contextlib
import itertools
import os
import random
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, closing
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.core.items import Item
from assay.core.packs import Learned
from assay.feedback import (
    KEPT_WORDS,
    Learning,
    confidence,
    file,
    forget_everything,
    keywords,
    learned_signals,
    learning,
    record_returned,
    score,
    signal,
    team,
)
from assay.feedback.marks import mentioned
from assay.feedback.store import CAP, FORGOTTEN, KEPT_TIMES, NEGLIGIBLE, boost, nearness
from assay.rank.profile import PROFILES, Profile
from assay.rank.symbols import require
from assay.store.source import WorkingTree
from support.postgres import new_postgres_store
from support.property_tests import examples
from support.repository import Repository

MINUTE, DAY = 60.0, 86_400.0
NOW = 1_000_000.0
times = st.lists(st.floats(0, NOW), max_size=40)

SHOP = """\
class Cart:
    def total(self):
        return sum(self.prices)

    def add_coupon(self, coupon):
        self.coupon = coupon


def checkout(cart):
    return cart.total() * 2


def ship_parcel(cart):
    return cart
"""
OTHER = "def total(rows):\n    return len(rows)\n"
TASK = "apply a voucher discount at the till"


# -- what it is worth --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("minutes", "worth"), [(0, 1.0), (3, 0.5), (6, 0.25), (9, 0.125)])
def test_one_access_halves_every_three_minutes(minutes: float, worth: float) -> None:
    assert boost([NOW - minutes * MINUTE], NOW) == pytest.approx(worth)


def test_accesses_add_up_to_the_cap_and_what_is_negligible_is_nothing() -> None:
    assert boost([NOW, NOW - 3 * MINUTE], NOW) == pytest.approx(1.5)
    assert boost([NOW] * 2, NOW) == boost([NOW] * 5, NOW) == CAP == 2.0
    assert boost([NOW - 19 * MINUTE], NOW) > NEGLIGIBLE
    assert boost([NOW - 20 * MINUTE], NOW) == 0.0
    assert boost([], NOW) == 0.0
    assert nearness([NOW], NOW) == 0.5


def test_only_the_newest_twenty_accesses_count() -> None:
    old = NOW - 15 * MINUTE
    assert boost([old] * 100, NOW) == pytest.approx(20 / 32)
    assert boost([old] * 100 + [NOW], NOW) == pytest.approx(1 + 19 / 32)


def test_a_clock_that_was_set_back_makes_no_access_worth_more_than_one() -> None:
    assert boost([NOW + 100 * DAY], NOW) == 1.0


@given(times, st.floats(0, DAY), st.floats(0, DAY))
def test_a_boost_only_falls_with_time_and_never_exceeds_its_cap(at: list[float], sooner: float, later: float) -> None:
    sooner, later = sorted((sooner, later))
    assert CAP >= boost(at, NOW + sooner) >= boost(at, NOW + later) >= 0


@given(times, st.randoms())
def test_the_order_of_accesses_does_not_matter(at: list[float], chance: random.Random) -> None:
    assert boost(chance.sample(at, len(at)), NOW) == boost(at, NOW)


def test_even_twenty_accesses_are_negligible_when_they_are_forgotten() -> None:
    assert boost([NOW - FORGOTTEN] * KEPT_TIMES, NOW) == 0.0


@pytest.mark.parametrize(
    ("useful", "not_useful", "share", "added"),
    [(1, 0, 1.0, 0.25), (7, 0, 1.0, 0.25), (3, 1, 0.75, 0.125), (1, 1, 0.5, 0.0), (1, 3, 0.25, -0.025), (0, 1, 0.0, -0.05), (0, 0, 0.5, 0.0)],
)  # fmt: skip
def test_in_the_seed_profile_useful_gains_five_times_what_not_useful_loses(
    useful: int, not_useful: int, share: float, added: float
) -> None:
    assert score(useful, not_useful) == pytest.approx(share)
    assert PROFILES["seed"].feedback_boost(signal(useful, not_useful)) == pytest.approx(added)


@given(st.integers(0, 1000), st.integers(0, 1000))
def test_one_more_time_useful_never_lowers_a_score(useful: int, not_useful: int) -> None:
    profile = Profile()
    before, after = (profile.feedback_boost(signal(votes, not_useful)) for votes in (useful, useful + 1))
    assert -0.1 <= before <= after <= 0.1


@pytest.mark.parametrize(("count", "weight"), [(2, 0.3), (4, 0.425), (6, 0.55), (10, 0.8), (11, 0.8), (500, 0.8)])
def test_a_word_seen_twice_weighs_least_and_from_ten_times_on_most(count: int, weight: float) -> None:
    assert confidence(count) == pytest.approx(weight)


# -- words -------------------------------------------------------------------------------------------------------------


def test_words_are_learned_by_their_stems_and_everyday_ones_are_not() -> None:
    assert keywords("Fix the cookies when users are using SessionStores") == {
        "cooki": "cookies", "session": "session", "store": "stores",
    }  # fmt: skip
    for noise in (
        "",
        "please make this function return the right values",
        "a b 12 3.4 the",
        "!!! ''\0",
        "returning errors",
    ):
        assert set(keywords(noise)) <= {"right"}


def test_a_pasted_log_is_not_the_vocabulary_of_a_task() -> None:
    assert len(keywords(" ".join(f"wo{chr(97 + n % 26)}rd{'x' * (n // 26)}" for n in range(500)))) == KEPT_WORDS
    assert len(keywords("cookie " * 1_000_000)) == 1


# -- names in a text ---------------------------------------------------------------------------------------------------


def _item(symbol: str, path: str = "shop.py", number: int = 1) -> Item:
    return Item(number, f"{path}::{symbol}", "function", symbol.rpartition(".")[2], symbol, path, 1, 2, "", "", False)


@pytest.mark.parametrize(
    ("symbol", "text", "is_named"),
    [
        ("ship_parcel", "see ship_parcel for more", True),
        ("ship_parcel", "ship_parcels", False),
        ("ship_parcel", "my_ship_parcel", False),
        ("Cart", "a Cart of things", True),
        ("Cart", "a cart of things", False),
        ("Cart.total", "the total = 3", False),
        ("Cart.total", "cart.total", True),
        ("Cart.total", "total (rows)", True),
        ("Cart.total", "def total", True),
        ("Cart.total", "Cart::total", True),
        ("List.empty?", "return if rows.empty?", True),
        ("x", "x(1)", False),
        ("größe", "k.größe", True),
        ("operator()", "a operator() b", False),
    ],
)
def test_a_name_counts_where_it_stands_alone_and_a_plain_word_where_it_is_code(
    symbol: str, text: str, is_named: bool
) -> None:
    assert bool(mentioned(text, [_item(symbol)])) is is_named


def test_a_name_that_several_have_needs_its_owner_beside_it() -> None:
    both = [_item("Cart.total"), _item("Order.total", number=2), _item("total", "rows.py", 3)]
    assert mentioned("x.total()", both) == []
    assert mentioned("Order().total()", both) == [both[1]]
    assert mentioned("import rows\nrows.total(1)", both) == [both[2]]


@pytest.mark.parametrize("piece", ["a", "total ", "def ", ".", " ", "A.", "total.total", "漢"])
def test_a_long_text_takes_no_longer_for_being_monotonous(piece: str) -> None:
    mentioned(piece * (1_000_000 // len(piece)), [_item("Cart.total")])


@given(st.text(max_size=300))
def test_any_text_may_be_scanned(text: str) -> None:
    assert mentioned(text, [_item("Cart.total"), _item("ship_parcel")]) in ([], [_item("Cart.total")])


# -- with an index -----------------------------------------------------------------------------------------------------


class Shop:
    """A small indexed repository and what is learned about it, in a file or in the store of a team."""

    def __init__(self, repository: Repository, store: str = "") -> None:
        self.repository = repository
        self.environment = {"ASSAY_STORE": store} if store else {}
        self.kept_days = 90 if store else 7  # of code that is gone
        if store:
            repository.git("remote", "add", "origin", "git@git.example.com:acme/shop.git")
        repository.write("shop.py", SHOP)
        repository.write("other.py", OTHER)
        self.index()

    def index(self) -> None:
        self.repository.index()
        self.opened = self.repository.open()

    def edit(self, before: str, after: str, path: str = "shop.py", index: bool = True) -> None:
        text = (self.repository.root / path).read_text()
        assert before in text
        self.repository.write(path, text.replace(before, after))
        if index:
            self.index()

    def items(self, *names: str) -> list[Item]:
        return [item for name in names for item in require(self.opened, name)]

    @contextlib.contextmanager
    def learning(self, now: float = NOW, write: bool = True) -> Iterator[Learning]:
        tree = WorkingTree(self.opened)
        with self.configured(), learning(self.opened, self.repository.home, tree, write, now) as told:
            yield told

    def configured(self) -> AbstractContextManager[object]:
        return mock.patch.dict(os.environ, self.environment)

    def judge(self, *names: str, useful: bool = True, task: str = "", now: float = NOW) -> None:
        with self.learning(now) as told:
            told.judge(self.items(*names), useful, task)

    def returned(self, *names: str, task: str = TASK, session: str = "s", now: float = NOW) -> None:
        tree = WorkingTree(self.opened)
        with self.configured():
            record_returned(self.opened, self.repository.home, tree, self.items(*names), task, session, now)

    def used(self, text: str, session: str = "s", path: str = "", lines: range = range(0)) -> list[str]:
        with self.learning() as told:
            return [item.symbol for item in told.used(text, session, path, lines)]

    def learned(self, task: str = "", session: str = "", now: float = NOW) -> Learned:
        with self.configured():
            return learned_signals(self.opened, self.repository.home, WorkingTree(self.opened), task, session, now)

    def feedback(self) -> dict[str, float]:
        return self.named(self.learned().feedback)

    def named(self, values: Mapping[int, float] | Iterable[tuple[int, float]]) -> dict[str, float]:
        return {self.opened.item(number).symbol: value for number, value in dict(values).items()}

    def words(self, task: str) -> dict[str, float]:
        return self.named((a.number, a.weight) for a in self.learned(task).vocabulary)

    def rows(self, table: str) -> int:
        """The number of rows, seen by the store itself."""
        with self.configured(), team.opened(self.repository.root, self.repository.home, False, True) as store:
            return int(store._db.rows(f"SELECT count(*) FROM {table}")[0][0])

    def forget(self) -> None:
        with self.configured():
            forget_everything(self.repository.root, self.repository.home, of_team=True)

    def is_untouched(self) -> bool:
        """Nothing was ever written: there is no file, or there are no rows."""
        untouched = not file.path_in(self.repository.home).exists()
        return untouched and not any(map(self.rows, ("symbols", "sessions")))


@pytest.fixture(params=["file", "team"])
def shop(request: pytest.FixtureRequest, repository: Repository) -> Shop:
    return Shop(repository, _store(request))


def _store(request: pytest.FixtureRequest) -> str:
    return new_postgres_store(request.getfixturevalue("postgres")) if request.param == "team" else ""


def test_nothing_was_learned_before_anything_is_told_and_asking_writes_nothing(shop: Shop) -> None:
    assert shop.learned(TASK, "s") == Learned()
    assert shop.is_untouched()


def test_feedback_is_the_share_of_times_a_symbol_was_useful(shop: Shop) -> None:
    shop.judge("checkout", "Cart.total")
    shop.judge("checkout")
    shop.judge("Cart.total", "ship_parcel", useful=False)
    assert shop.feedback() == {"checkout": 1.0, "ship_parcel": -1.0}
    shop.judge("Cart.total", "checkout", useful=False)
    assert shop.feedback() == pytest.approx({"checkout": 1 / 3, "Cart.total": -1 / 3, "ship_parcel": -1.0})


def test_the_order_of_what_is_told_does_not_matter(shop: Shop) -> None:
    told = [("checkout", True), ("checkout", False), ("Cart.total", False), ("checkout", True), ("Cart.total", True)]
    outcomes = []
    for order in itertools.islice(itertools.permutations(told), 0, None, 23):
        shop.forget()
        for name, useful in order:
            shop.judge(name, useful=useful, task=TASK)
        outcomes.append((shop.feedback(), shop.words(TASK)))
    assert all(outcome == outcomes[0] for outcome in outcomes)


# -- expiry ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("return cart.total() * 2", "return cart.total() * 3"),
        ("checkout(cart)", "checkout(basket)"),
        ("checkout", "pay"),
    ],
    ids=["its body", "its signature", "its name"],
)
def test_what_was_told_of_a_symbol_ends_when_its_text_changes(shop: Shop, before: str, after: str) -> None:
    for _ in range(2):
        shop.judge("checkout", "ship_parcel", task=TASK)
    shop.returned("checkout", "ship_parcel")
    shop.edit(before, after)
    assert shop.feedback() == {"ship_parcel": 1.0}
    assert shop.named(shop.learned("", "s").session) == {"ship_parcel": 0.5}
    assert shop.words(TASK) == {"ship_parcel": 0.3}


def test_edits_around_a_symbol_leave_what_was_told_of_it(shop: Shop) -> None:
    shop.judge("checkout", "Cart", useful=True)
    shop.edit("class Cart:", "import math\n\n\nclass Cart:\n    tax = 1\n")
    assert shop.feedback() == {"checkout": 1.0}
    shop.judge("ship_parcel")
    shop.edit("import math\n", "import math\nimport os\n")
    assert shop.feedback() == {"checkout": 1.0, "ship_parcel": 1.0}


def test_a_file_that_is_edited_but_not_indexed_again_still_counts(shop: Shop) -> None:
    shop.judge("checkout")
    shop.edit("* 2", "* 3", index=False)
    assert shop.feedback() == {"checkout": 1.0}
    shop.judge("checkout", useful=False)
    assert shop.feedback() == {}
    shop.index()
    assert shop.feedback() == {}
    assert shop.rows("symbols") == 2


def test_what_cannot_be_told_does_not_count_and_is_not_dropped(shop: Shop) -> None:
    shop.judge("checkout")
    shop.edit("class Cart:", "# a shop\nclass Cart:")
    shop.edit("# a shop", "# two shops", index=False)
    assert shop.feedback() == {}
    shop.judge("other.py::total", now=NOW + 30 * DAY)
    shop.edit("# two shops", "# a shop", index=False)
    assert shop.feedback() == {"checkout": 1.0, "total": 1.0}


def test_code_that_comes_back_with_its_branch_is_remembered(shop: Shop) -> None:
    shop.judge("checkout", "ship_parcel")
    shop.edit("* 2", "* 3")
    shop.judge("ship_parcel", now=NOW + (shop.kept_days - 1) * DAY)
    assert shop.rows("symbols") == 2
    shop.edit("* 3", "* 2")
    assert shop.feedback() == {"checkout": 1.0, "ship_parcel": 1.0}
    shop.edit("* 2", "* 3")
    shop.judge("ship_parcel", now=NOW + (shop.kept_days + 1) * DAY)
    shop.edit("* 3", "* 2")
    assert shop.feedback() == {"ship_parcel": 1.0}
    assert shop.rows("symbols") == 1


def test_the_week_begins_when_something_was_last_told(shop: Shop) -> None:
    for days in (0, shop.kept_days - 2):
        shop.judge("checkout", now=NOW + days * DAY)
    shop.edit("* 2", "* 3")
    shop.judge("ship_parcel", now=NOW + (shop.kept_days + 1) * DAY)
    assert shop.rows("symbols") == 2


def test_code_that_changed_and_then_went_is_dropped_as_well(shop: Shop) -> None:
    shop.judge("checkout")
    shop.edit("* 2", "* 3")
    shop.judge("ship_parcel")
    shop.edit("checkout", "pay")
    shop.judge("ship_parcel", now=NOW + (shop.kept_days + 1) * DAY)
    assert shop.rows("symbols") == 1


def test_code_that_changed_is_not_read_again_for_every_task(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.judge("checkout", "ship_parcel")
    shop.edit("* 2", "* 3")
    shop.judge("Cart")
    read: list[str] = []

    def text(_: WorkingTree, item: Item) -> str:
        read.append(item.symbol)
        return ""

    monkeypatch.setattr(WorkingTree, "text", text)
    assert shop.feedback() == {"Cart": 1.0, "ship_parcel": 1.0}
    assert read == []


def test_a_deleted_or_moved_file_takes_what_was_told_along(shop: Shop) -> None:
    shop.judge("other.py::total", "checkout")
    (shop.repository.root / "other.py").rename(shop.repository.root / "moved.py")
    shop.index()
    assert shop.feedback() == {"checkout": 1.0}


def test_rebuilding_the_index_changes_nothing(shop: Shop) -> None:
    shop.judge("checkout", task=TASK)
    shop.judge("checkout", task=TASK)
    before = shop.feedback(), shop.words(TASK)
    shop.repository.index(rebuild=True)
    shop.opened = shop.repository.open()
    assert (shop.feedback(), shop.words(TASK)) == before


# -- implicit ----------------------------------------------------------------------------------------------------------


def test_what_was_given_and_used_is_useful_and_the_rest_is_not(shop: Shop) -> None:
    shop.returned("checkout", "ship_parcel", "Cart.add_coupon")
    assert shop.used("def test():\n    assert checkout(Cart())") == ["checkout"]
    assert shop.feedback() == {"checkout": 1.0}
    shop.returned("Cart")
    assert shop.feedback() == {"checkout": 1.0, "ship_parcel": -1.0, "Cart.add_coupon": -1.0}


def test_using_twice_counts_once_and_only_what_was_given_last_can_be_used(shop: Shop) -> None:
    shop.returned("checkout", "ship_parcel")
    assert shop.used("checkout()") == ["checkout"]
    assert shop.used("checkout()") == []
    shop.returned("Cart.add_coupon")
    assert shop.used("checkout() ship_parcel add_coupon") == ["Cart.add_coupon"]
    shop.returned("checkout")
    with shop.learning(write=False) as told:
        rows, _ = told.active()
    assert {row.item.symbol: (row.useful, row.not_useful) for row in rows} == {
        "checkout": (1, 0), "ship_parcel": (0, 1), "Cart.add_coupon": (1, 0),
    }  # fmt: skip


def test_silence_says_nothing_where_nobody_reports_what_is_used(shop: Shop) -> None:
    shop.returned("checkout", "ship_parcel")
    shop.returned("Cart.total")
    assert shop.feedback() == {}
    assert shop.used("nothing of it") == []
    shop.returned("checkout")
    assert shop.feedback() == {"Cart.total": -1.0}


def test_written_lines_use_what_is_named_but_never_the_container(shop: Shop) -> None:
    names = ("Cart", "Cart.total", "Cart.add_coupon", "checkout", "ship_parcel", "other.py::total")
    shop.returned(*names)
    assert shop.used("", path="shop.py", lines=range(5, 6)) == ["Cart.add_coupon"]
    shop.returned(*names)
    assert shop.used("x = checkout(y)", path="shop.py", lines=range(13, 15)) == ["checkout", "ship_parcel"]
    for line, defined in ((3, ["Cart.total"]), (4, []), (7, [])):
        shop.returned(*names)
        assert shop.used("", path="shop.py", lines=range(line, line + 1)) == defined
    shop.returned(*names)
    assert shop.used("", path="elsewhere.py", lines=range(1, 1000)) == []


def test_an_edited_item_was_useful_in_its_new_version_and_the_rest_was_not(shop: Shop) -> None:
    for before, after in (("* 2", "* 3"), ("* 3", "* 4")):
        shop.returned("Cart", "Cart.total", "checkout", "ship_parcel")
        shop.edit(before, after)
        shop.returned("Cart.add_coupon")
    with shop.learning(write=False) as told:
        rows, _ = told.active()
    assert {row.item.symbol: (row.useful, row.not_useful) for row in rows} == {
        "checkout": (2, 0), "Cart.total": (0, 2), "ship_parcel": (0, 2), "Cart.add_coupon": (0, 1),
    }  # fmt: skip
    assert shop.words("voucher") == {"checkout": pytest.approx(0.3)}


def test_an_edit_of_a_member_says_nothing_about_its_class(shop: Shop) -> None:
    shop.returned("Cart", "ship_parcel")
    shop.edit("sum(self.prices)", "max(self.prices)")
    shop.returned("checkout")
    assert shop.feedback() == {}


def test_an_edit_that_is_reported_before_it_is_indexed_still_holds_afterwards(shop: Shop) -> None:
    shop.returned("checkout", "ship_parcel")
    shop.edit("* 2", "* 3", index=False)
    assert shop.used("return cart.total() * 3", path="shop.py", lines=range(9, 11)) == ["checkout"]
    shop.index()
    assert shop.used("nothing more") == []
    assert shop.feedback() == {"checkout": 1.0}


def test_what_is_not_indexed_again_is_neither_useful_nor_not(shop: Shop) -> None:
    shop.returned("Cart.total", "checkout", "other.py::total")
    shop.edit("len(rows)", "sum(rows)", path="other.py")
    shop.edit("* 2", "* 3", index=False)
    shop.returned("Cart.add_coupon")
    assert shop.feedback() == {"total": 1.0}


def test_sessions_know_nothing_of_each_other(shop: Shop) -> None:
    shop.returned("checkout", session="one")
    shop.returned("ship_parcel", session="two")
    assert shop.named(shop.learned(session="one").session) == {"checkout": 0.5}
    assert shop.learned().session == {}
    assert shop.learned(session="three").session == {}
    assert shop.used("checkout() ship_parcel", session="two") == ["ship_parcel"]
    assert shop.used("checkout()", session="three") == []
    shop.returned("Cart", session="two")
    assert shop.feedback() == {"ship_parcel": 1.0}


def test_an_answer_outside_of_sessions_leaves_no_trace(shop: Shop) -> None:
    shop.returned("checkout", session="")
    assert shop.is_untouched()


def test_what_a_session_was_given_lately_is_near(shop: Shop) -> None:
    for minutes in range(4):
        shop.returned("checkout", now=NOW + minutes * MINUTE)
    shop.returned("ship_parcel", now=NOW + 3 * MINUTE)
    near = shop.named(shop.learned(session="s", now=NOW + 3 * MINUTE).session)
    assert near == pytest.approx({"checkout": 1.0, "ship_parcel": 0.5})
    later = shop.named(shop.learned(session="s", now=NOW + 9 * MINUTE).session)
    assert later["checkout"] == pytest.approx((0.25 + 0.125 * (2 ** (1 / 3) + 2 ** (2 / 3) + 1)) / 2)
    assert shop.learned(session="s", now=NOW + 60 * MINUTE).session == {}


def test_at_most_twenty_accesses_of_a_symbol_are_kept(shop: Shop) -> None:
    for second in range(30):
        shop.returned("checkout", now=NOW + second)
    assert shop.rows("accesses WHERE time >= 1000010") == shop.rows("accesses") == KEPT_TIMES


# -- vocabulary --------------------------------------------------------------------------------------------------------


def test_words_of_tasks_lead_to_what_was_used_for_them(shop: Shop) -> None:
    shop.judge("Cart.add_coupon", task=TASK)
    assert shop.words(TASK) == {}
    shop.judge("Cart.add_coupon", task="where do vouchers go")
    assert shop.words("print the voucher") == {"Cart.add_coupon": pytest.approx(0.3)}
    assert shop.words("print the discount") == {}
    (association,) = shop.learned("a voucher with a discount").vocabulary
    assert association.words == ("voucher",)


def test_the_surest_and_best_agreeing_symbols_come_first(shop: Shop) -> None:
    for _ in range(10):
        shop.judge("checkout", task="voucher")
    for _ in range(2):
        shop.judge("ship_parcel", "Cart", task="voucher")
        shop.judge("Cart", task="discount till counter")
    found = shop.learned("voucher discount till counter").vocabulary
    assert [shop.opened.item(a.number).symbol for a in found] == ["Cart", "checkout", "ship_parcel"]
    assert [a.weight for a in found] == pytest.approx([0.3, 0.8, 0.3])
    assert found[0].words == ("counter", "discount", "till", "voucher")


def test_a_symbol_weighs_as_much_as_its_surest_word(shop: Shop) -> None:
    for times in range(6):
        shop.judge("checkout", task="voucher discount" if times < 2 else "voucher")
    assert shop.words("discount") == {"checkout": pytest.approx(0.3)}
    assert shop.words("voucher discount") == {"checkout": pytest.approx(0.55)}


def test_use_in_a_session_teaches_the_words_of_its_task(shop: Shop) -> None:
    for _ in range(2):
        shop.returned("Cart.add_coupon", "ship_parcel")
        shop.used("cart.add_coupon(c)")
    assert shop.words("voucher") == {"Cart.add_coupon": pytest.approx(0.3)}


def test_what_was_not_useful_for_a_task_is_led_to_less(shop: Shop) -> None:
    for _ in range(3):
        shop.judge("checkout", task="voucher")
    shop.judge("checkout", task="vouchers", useful=False)
    assert shop.words("voucher") == {"checkout": pytest.approx(0.3)}
    shop.judge("checkout", task="voucher", useful=False)
    assert shop.words("voucher") == {}


# -- forgetting and bounds ---------------------------------------------------------------------------------------------


def test_forgetting_a_symbol_forgets_all_about_it_and_nothing_else(shop: Shop) -> None:
    for _ in range(2):
        shop.judge("checkout", "ship_parcel", task=TASK)
    shop.returned("checkout", "ship_parcel")
    with shop.learning() as told:
        assert told.forget(shop.items("checkout", "Cart")) == 1
    assert shop.feedback() == {"ship_parcel": 1.0}
    assert shop.words(TASK) == {"ship_parcel": pytest.approx(0.3)}
    assert shop.named(shop.learned(session="s").session) == {"ship_parcel": 0.5}
    assert shop.used("checkout(ship_parcel)") == ["ship_parcel"]


def test_an_error_leaves_everything_as_it_was(shop: Shop) -> None:
    shop.judge("checkout")
    with contextlib.suppress(ZeroDivisionError), shop.learning() as told:
        told.judge(shop.items("ship_parcel"), True)
        raise ZeroDivisionError
    assert shop.feedback() == {"checkout": 1.0}


def test_what_was_useful_outlives_what_was_not_when_there_is_too_much(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assay.feedback.store.KEPT_SYMBOLS", 2)
    monkeypatch.setattr("assay.feedback.store.KEPT_ASSOCIATIONS", 3)
    shop.judge("checkout", task=TASK, now=NOW)
    shop.judge("Cart", useful=False, now=NOW + 1)
    shop.judge("ship_parcel", useful=False, now=NOW + 2)
    assert shop.feedback() == {"checkout": 1.0, "ship_parcel": -1.0}
    assert shop.rows("vocabulary") == 3
    shop.judge("checkout", task="voucher")
    shop.judge("ship_parcel", task="bell book candle")
    assert shop.words("voucher") == {"checkout": pytest.approx(0.3)}


def test_sessions_and_accesses_that_are_too_old_to_matter_are_dropped(shop: Shop) -> None:
    shop.returned("checkout", session="old")
    shop.returned("ship_parcel", session="hour", now=NOW + DAY - 2 * FORGOTTEN)
    shop.returned("Cart", session="new", now=NOW + DAY + 1)
    assert [shop.rows(table) for table in ("sessions", "accesses", "pending", "symbols")] == [2, 1, 2, 2]


# -- the law of it all -------------------------------------------------------------------------------------------------

NAMES = ("checkout", "ship_parcel", "Cart.add_coupon")
names = st.lists(st.sampled_from(NAMES), unique=True)
steps = st.lists(
    st.tuples(st.sampled_from(("useful", "not useful", "returned", "used")), names, st.sampled_from("ab")), max_size=10
)


@pytest.fixture(scope="module", params=["file", "team"])
def quiet_shop(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Shop:
    """A shop whose code stays as it is."""
    repository = Repository(tmp_path_factory.mktemp("shop"))
    repository.git("init", "-q")
    return Shop(repository, _store(request))


@settings(deadline=None, max_examples=examples(40))
@given(steps)
def test_counts_are_those_of_a_plain_model(quiet_shop: Shop, steps: list[tuple[str, list[str], str]]) -> None:
    shop, counts = quiet_shop, {name: [0, 0] for name in NAMES}
    given_last: dict[str, dict[str, bool]] = {}  # session → what it was given → used
    watched: set[str] = set()
    shop.forget()
    for step, chosen, session in steps:
        if step == "returned":
            for name, was_used in given_last.get(session, {}).items():
                counts[name][1] += session in watched and not was_used
            given_last[session] = dict.fromkeys(chosen, False)
            shop.returned(*chosen, session=session)
        elif step == "used":
            for name in chosen:
                counts[name][0] += given_last.get(session, {}).get(name) is False
                if session in given_last and name in given_last[session]:
                    given_last[session][name] = True
            watched |= {session} & given_last.keys()
            shop.used(" ".join(f"{name}()" for name in chosen), session)
        else:
            for name in chosen:
                counts[name][step == "not useful"] += 1
            shop.judge(*chosen, useful=step == "useful")
    with shop.learning(write=False) as told:
        rows, expired = told.active()
    found = {row.item.symbol: [row.useful, row.not_useful] for row in rows if row.useful or row.not_useful}
    assert found == {name: both for name, both in counts.items() if any(both)}
    assert expired == 0


def test_a_file_that_somebody_is_just_making_is_read_as_an_empty_one(tmp_path: Path) -> None:
    path = tmp_path / "learned.db"
    with closing(sqlite3.connect(path)) as made:
        made.execute("PRAGMA journal_mode = WAL")  # the file is there before its tables are
        assert path.stat().st_size
        with file.opened(path, write=False) as opened:
            assert opened.rows("SELECT count(*) FROM symbols") == [(0,)]
