"""The engine: candidates of a task, their order, and the explanation."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay import open as assay_open
from assay.core.items import EDGE_TYPES, PROVENANCES
from assay.rank.engine import Engine, open_engine
from assay.rank.graph import Graph
from assay.rank.profile import PROFILES, Profile, with_settings
from assay.rank.query import query_terms
from assay.rank.signals.lexical import inverse_document_frequency
from assay.store.edges import DTYPE, Edges, from_rows
from assay.text.terms import terms
from assay.text.tokens import count
from support.command import assay
from support.repository import Repository

SHOP = '''\
class Basket:
    """What a customer is going to buy."""

    def __init__(self):
        self.goods = []

    def total_price(self, discounts):
        """Adds up the prices of the goods."""
        return apply_discounts(sum(good.price for good in self.goods), discounts)

    def empty(self):
        self.goods.clear()


def apply_discounts(amount, discounts):
    for discount in discounts:
        amount -= discount.value
    return amount


def send_invoice(basket, address):
    deliver(address, basket.total_price([]))


def deliver(address, amount):
    print(address, amount)
'''
TESTS = """\
from shop import Basket, apply_discounts


def test_total_price_with_discounts():
    assert Basket().total_price([]) == 0
    assert apply_discounts(3, []) == 3
"""


@pytest.fixture
def shop(repository: Repository) -> Repository:
    repository.write("shop.py", SHOP)
    repository.write("tests/test_shop.py", TESTS)
    repository.commit()
    repository.index()
    return repository


def _found(shop: Repository, task: str, how: Profile | None = None, k: int = 5) -> list[str]:
    index = shop.open()
    try:
        return [ranked.item.symbol for ranked in Engine(index, how or Profile()).ranked(task, k)]
    finally:
        index.close()


# -- words -------------------------------------------------------------------------------------------------------------


def test_terms_are_split_lower_cased_and_stemmed() -> None:
    assert terms("parseHTTPHeaders of requests_v2") == ["pars", "http", "header", "of", "request", "v", "2"]
    assert terms("discounts") == terms("Discounted")


def test_a_task_is_searched_by_its_telling_words_each_counted_twice_at_most() -> None:
    assert query_terms("Add the discount, discount, discount to the basket", 2) == {"discount": 2, "basket": 1}
    assert query_terms("how do I use it", 2) == {}


def test_what_a_task_says_first_counts_most() -> None:
    task = "Add a discount to the basket when the customer pays, including the voucher (unless expired)"
    counted = query_terms(task, 2, clause_decay=0.5)
    assert [counted[word] for word in ("discount", "basket", "custom", "voucher", "expir")] == [1, 1, 0.5, 0.25, 0.125]
    assert query_terms(task, 2, clause_decay=1) == query_terms(task, 2)


def test_a_clause_counts_once_however_it_is_joined_and_code_is_none() -> None:
    assert query_terms("when if so that the basket", 2, clause_decay=0.5) == {"basket": 1}
    assert set(query_terms("Basket::total(price) rounds", 2, clause_decay=0.5).values()) == {1}


def test_a_word_counts_as_where_it_is_first_said_and_bodies_have_no_clauses() -> None:
    assert query_terms("discount for the discount", 3, clause_decay=0.5) == {"discount": 2}
    assert query_terms("discount\n\nwhen a voucher", 3, clause_decay=0.5) == {"discount": 2, "voucher": 1}


@given(st.integers(1, 10_000), st.data())
def test_a_rarer_word_weighs_more_and_none_less_than_nothing(items: int, data: st.DataObject) -> None:
    few = data.draw(st.integers(0, items - 1))
    many = data.draw(st.integers(few + 1, items))
    assert inverse_document_frequency(items, few) > inverse_document_frequency(items, many) > 0


# -- ranking -----------------------------------------------------------------------------------------------------------


def test_what_is_named_by_the_task_comes_first(shop: Repository) -> None:
    assert _found(shop, "total price of a basket")[:2] == ["Basket.total_price", "Basket"]
    assert _found(shop, "sending invoices", PROFILES["lexical"])[0] == "send_invoice"


def test_the_walk_brings_what_shares_no_word_with_the_task(shop: Repository) -> None:
    with_walk, without = _found(shop, "invoice", k=9), _found(shop, "invoice", PROFILES["lexical"], k=9)
    assert "deliver" in with_walk
    assert "deliver" not in without


def test_what_commits_with_such_messages_touched_gains(shop: Repository) -> None:
    shop.write("accounts.py", "def pay_back(customer):\n    return customer\n")
    shop.write("letters.py", "def write_to(customer):\n    return customer\n")
    shop.commit("start")
    shop.write("letters.py", "def write_to(customer):\n    return customer, 'dear'\n")
    shop.commit("Customer complaints are answered politely")
    shop.index()
    assert _found(shop, "complaints of a customer", PROFILES["hand-tuned"])[0] == "write_to"
    without = dataclasses.replace(PROFILES["hand-tuned"], history=0.0, touched=0.0)
    assert _found(shop, "complaints of a customer", without)[0] == "pay_back"


def test_tests_stand_behind_unless_the_task_is_about_them(shop: Repository) -> None:
    lexical = PROFILES["lexical"]
    assert _found(shop, "total price with discounts", lexical)[0] != "test_total_price_with_discounts"
    assert _found(shop, "fix the test of total price with discounts", lexical)[0] == "test_total_price_with_discounts"


@pytest.mark.parametrize(
    "task", ["", "   ", "the of and", "🙂 漢字 שלום", "'; DROP TABLE symbols; --", '"*" OR NEAR(', "x" * 100_000]
)
def test_a_task_that_says_nothing_finds_nothing_and_breaks_nothing(shop: Repository, task: str) -> None:
    assert _found(shop, task) == []


def test_an_empty_index_finds_nothing(repository: Repository) -> None:
    repository.commit()
    repository.index()
    assert _found(repository, "anything at all") == []


def test_full_length_normalization_of_empty_fields_is_no_division_by_zero(shop: Repository) -> None:
    assert _found(shop, "total price of a basket", Profile(field_lengths=(1.0,) * 7))[0] == "Basket.total_price"


def test_a_ranking_repeats_exactly(shop: Repository) -> None:
    index = shop.open()
    first, second = (Engine(index, Profile()).rank("discounts of the basket") for _ in range(2))
    index.close()
    assert first.scores.tobytes() == second.scores.tobytes()


def test_a_ranking_says_what_every_score_is_made_of(shop: Repository) -> None:
    index = shop.open()
    ranking = Engine(index, Profile()).rank("total price of a basket")
    best = ranking.best(1)[0]
    index.close()
    assert set(ranking.factors) == {
        "lexical", "coverage", "name", "authority", "history", "touched", "documents", "place", "channels", "kind", "tests",
    }  # fmt: skip
    direct = np.prod([values[best] for values in ranking.factors.values()])
    told = direct + sum(values[best] for values in ranking.additions.values())
    assert ranking.parts["direct"][best] == pytest.approx(1.0)
    assert told > direct > 0
    total = sum(values[best] for values in ranking.parts.values())
    total *= np.prod([values[best] for values in ranking.multipliers.values()])
    total += sum(values[best] for values in ranking.boosts.values())
    assert ranking.scores[best] == pytest.approx(total / ranking.scale) == 1


@pytest.mark.parametrize(
    ("weight", "factor"),
    [
        ("coverage", "coverage"), ("name_precision", "name"), ("authority", "authority"), ("history", "history"), ("place", "place"),
        ("fusion", "channels"),
    ],
)  # fmt: skip
def test_a_weight_of_0_switches_its_factor_off(shop: Repository, weight: str, factor: str) -> None:
    index = shop.open()
    off = with_settings(Profile(), "off", {weight: 0.0}, "")
    assert factor in Engine(index, Profile()).rank("total price").factors
    assert factor not in Engine(index, off).rank("total price").factors
    index.close()


def test_a_weight_of_0_switches_the_walk_hits_and_sharing_off(shop: Repository) -> None:
    index = shop.open()
    still = dataclasses.replace(Profile(), walk=0.0, hits=0.0, container_share=0.0, member_share=0.0, folder=0.0)
    ranking = Engine(index, still).rank("total price")
    index.close()
    assert not ranking.walk.visits.any()
    assert not ranking.additions["containment"].any()
    assert "hits" not in ranking.parts
    assert "folder" not in ranking.multipliers


def test_the_walk_ends_only_at_what_can_be_retrieved(shop: Repository) -> None:
    index = shop.open()
    visits = open_engine(index, PROFILES["seed"]).rank("total price").walk.visits
    reached = index.numbered(np.flatnonzero(visits).tolist())
    assert {item.kind for item in reached.values()} >= {"function", "method"}
    assert "file" not in {item.kind for item in reached.values()}
    index.close()


def test_company_brings_among_the_first_but_what_is_said_of_an_item_itself_orders_them(repository: Repository) -> None:
    methods = "".join(f"    def invoice_{name}(self): ...\n" for name in ("open", "close", "print", "sign", "send"))
    repository.write("archive.py", f"class Archive:\n{methods}")
    repository.write("pay.py", "def invoice(): ...\n")
    repository.index()
    index = repository.open()
    company, own = (
        Engine(index, dataclasses.replace(PROFILES["hand-tuned"], reorder=own)).rank("the invoice")
        for own in (0.0, 2.0)
    )
    first = [index.item(number).symbol for number in own.best(10)]
    before = [index.item(number).symbol for number in company.best(10)]
    index.close()
    assert first.index("Archive") > before.index("Archive")
    assert first[0] == "invoice"


@pytest.mark.parametrize(
    "task", ["total price", "discount of a basket", "send the invoice", "deliver", "nothing of it"]
)
def test_who_is_among_the_first_and_what_scores_there_are_does_not_depend_on_their_order(
    shop: Repository, task: str
) -> None:
    shop.write("more.py", "".join(f"def discount_{n}(basket): deliver(basket, {n})\n" for n in range(20)))
    shop.index()
    index = shop.open()
    company, own = (Engine(index, dataclasses.replace(Profile(), reorder=own)).rank(task) for own in (0.0, 2.0))
    index.close()
    assert set(own.best(10)) == set(company.best(10))
    assert own.best(30)[10:] == company.best(30)[10:]
    assert np.sort(own.scores) == pytest.approx(np.sort(company.scores))


# -- the graph ---------------------------------------------------------------------------------------------------------


def _graph(rows: list[tuple[int, int, str]], size: int) -> Graph:
    edges = np.array([(a, b, EDGE_TYPES[kind].code, 1, 1.0, 1, 1) for a, b, kind in rows], dtype=DTYPE)
    edges = edges[np.lexsort((edges["target"], edges["source"]))]
    return Graph(Edges(edges, np.argsort(edges["target"], kind="stable").astype("<i4")), size, Profile())


def test_the_walk_follows_edges_by_their_weight() -> None:
    graph = _graph([(1, 2, "calls"), (1, 3, "similar_to")], 4)
    seeds = np.array([0, 1.0, 0, 0])
    one_step = graph.walk(seeds, restart=0.2, steps=1)
    assert one_step == pytest.approx([0, 0.2, 0.8 * 1.0 / 1.15, 0.8 * 0.15 / 1.15])


def test_from_a_dead_end_the_walk_goes_back_to_the_seeds() -> None:
    graph = _graph([], 3)
    assert graph.walk(np.array([0, 3.0, 1.0]), restart=0.2, steps=5) == pytest.approx([0, 0.75, 0.25])


_EDGES = st.lists(
    st.tuples(st.integers(1, 9), st.integers(1, 9), st.sampled_from(list(Profile().edge_weights))), max_size=30
)


@given(_EDGES, st.lists(st.floats(0, 1), min_size=10, max_size=10))
def test_the_walker_is_always_somewhere_and_nowhere_twice(rows: list[tuple[int, int, str]], seeds: list[float]) -> None:
    found = _graph(rows, 10).walk(np.array(seeds), 0.2, 15)
    assert (found >= 0).all()
    assert found.sum() == pytest.approx(1.0 if sum(seeds) > 0 else 0.0)


def test_a_container_gains_from_its_best_members_and_members_from_it() -> None:
    graph = _graph([(1, 2, "contains"), (1, 3, "contains")], 4)
    shared = graph.shared(np.array([0, 1.0, 8.0, 4.0]), upwards=0.5, downwards=0.1)
    container = 1.0 + 0.5 * (8.0 + 4.0 / 2)
    assert shared == pytest.approx([0, container, 8.0 + 0.1 * container, 4.0 + 0.1 * container])


@pytest.mark.parametrize(("members", "share"), [(2, 1.0), (30, 1.0), (60, 0.5), (300, 0.1)])
def test_many_members_divide_what_their_container_passes_on(members: int, share: float) -> None:
    graph = _graph([(1, number, "contains") for number in range(2, members + 2)], members + 2)
    scores = np.array([0, 10.0, 1.0, *[0.0] * (members - 1)])
    assert graph.shared(scores, upwards=0.0, downwards=0.4)[2] == pytest.approx(1.0 + 0.4 * share * 10.0)


def test_only_the_five_best_members_count() -> None:
    graph = _graph([(1, number, "contains") for number in range(2, 9)], 9)
    scores = np.array([0, 0, *[1.0] * 7])
    assert graph.shared(scores, 1.0, 0.0)[1] == pytest.approx(1 + 1 / 2 + 1 / 4 + 1 / 8 + 1 / 16)


def test_what_is_used_more_has_more_authority() -> None:
    graph = _graph([(1, 2, "calls"), (3, 2, "references"), (1, 3, "calls"), (2, 1, "contains")], 4)
    assert graph.uses[2] == 1.0
    assert 0 < graph.uses[3] < 1
    assert graph.uses[1] == 0


# -- why ---------------------------------------------------------------------------------------------------------------


def test_why_adds_up_the_words_to_the_lexical_score(shop: Repository) -> None:
    told = assay(shop.root, "why", "total price of a basket", "Basket.total_price", "--format", "json").json[
        "explanations"
    ]
    assert len(told) == 1
    assert told[0]["rank"] == 1
    assert told[0]["lost"] == ""
    words = {word["term"]: word for word in told[0]["words"]}
    assert words["total"]["fields"]["name"] == 1
    assert sum(word["score"] for word in words.values()) == pytest.approx(told[0]["factors"]["lexical"])


def test_why_says_by_which_edges_the_walk_came(shop: Repository) -> None:
    told = assay(shop.root, "why", "invoice", "deliver", "--format", "json").json["explanations"][0]
    assert told["factors"]["lexical"] == 0
    assert (told["walk_edges"][0]["source"], told["walk_edges"][0]["edge"]) == ("shop.py::send_invoice", "calls")
    assert sum(way["share"] for way in told["walk_edges"]) == pytest.approx(1.0)


def test_why_says_where_a_symbol_was_lost(shop: Repository) -> None:
    done = assay(shop.root, "why", "invoice", "Basket.empty", "--profile", "lexical")
    assert "lost: no term of the task matches, and the graph walk does not reach it" in done.out
    done = assay(shop.root, "why", "invoice", "deliver", "-k", "1")
    assert "lost: no term of the task matches; the graph walk alone puts it at rank" in done.out
    done = assay(shop.root, "why", "qwertyuiop", "deliver")
    assert "lost: no term of the task is in the index" in done.out


def test_why_of_a_symbol_that_does_not_exist_offers_the_nearest(shop: Repository) -> None:
    done = assay(shop.root, "why", "invoice", "send_invoic")
    assert done.code == 1
    assert "Nearest: send_invoice" in done.err


# -- context -----------------------------------------------------------------------------------------------------------


def test_context_in_json_has_what_scripts_rely_on(shop: Repository) -> None:
    told = assay(
        shop.root, "context", "total price of a basket", "-k", "3", "--budget", "2000", "--format", "json"
    ).json
    assert [item["symbol"] for item in told["items"]][:2] == ["Basket.total_price", "Basket"]
    assert {"id", "symbol", "kind", "path", "start", "end", "score"} <= told["items"][0].keys()
    assert told["items"][0]["id"] == "shop.py::Basket.total_price"
    assert told["tokens"] <= 2000
    assert told["fresh"] is True


@pytest.mark.parametrize("form", ["text", "markdown", "xml", "json"])
@pytest.mark.parametrize("budget", [50, 10**9])
def test_no_answer_is_longer_than_its_budget(shop: Repository, form: str, budget: int) -> None:
    done = assay(shop.root, "context", "total price of a basket", "--budget", str(budget), "--format", form)
    assert done.code == 0
    assert count(done.out) <= budget


def test_context_says_when_files_changed_since(shop: Repository) -> None:
    shop.write("shop.py", SHOP + "\n\ndef refund():\n    pass\n")
    done = assay(shop.root, "context", "total price of a basket", "--no-refresh")
    assert "1 file changed since it was made (shop.py); run: assay index" in done.out
    assert "changed since it was indexed" in done.out


def test_context_that_finds_nothing_says_what_was_searched_and_offers_names(shop: Repository) -> None:
    done = assay(shop.root, "context", "totlpric")
    assert done.code == 1
    assert "nothing in" in done.out
    assert "Basket.total_price" in done.out


def test_context_without_a_task_or_an_index_is_refused_in_a_line(repository: Repository) -> None:
    done = assay(repository.root, "context", "anything", "--no-refresh")
    assert done.code == 2
    assert "assay index" in done.err
    assert "what is the task?" in assay(repository.root, "context", "  ").err


def test_what_is_remembered_changes_no_answer(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    repository.write("shop.py", SHOP)
    repository.write(
        "README.md", "# Baskets\n\nThe price of a `Basket` is its `total_price`, less what `apply_discounts` takes.\n"
    )
    repository.index()
    tasks = ["the price of the basket", "how discounts lower the price", "the price of the basket"]

    def answers() -> list[str]:
        with assay_open(repository.root) as opened:
            return [opened.context(task).render() for task in tasks]

    remembering = answers()
    for bound in (
        "rank.signals.lexical._MOST",
        "store.source._MOST",
        "store.sections._MAX_CACHED",
        "text.tokens._MOST",
    ):
        monkeypatch.setattr(f"assay.{bound}", 0)
    assert answers() == remembering
    assert remembering[0] == remembering[2] != remembering[1]


def test_an_edge_that_a_tool_repeats_counts_once_with_the_larger_weight() -> None:
    inferred, scip = PROVENANCES.index("inferred"), PROVENANCES.index("scip")
    calls = EDGE_TYPES["calls"].code
    rows = [(1, 2, calls, inferred, 0.2, 1, 1), (1, 2, calls, scip, 1.0, 1, -1), (1, 3, calls, scip, 1.0, 2, -1)]
    edges = from_rows(rows)
    order = np.argsort(edges["target"], kind="stable").astype("<i4")
    for factor, second in ((1.0, 1.0), (0.1, 0.2)):
        graph = Graph(Edges(edges, order), 4, Profile(tool_edges=factor))
        assert graph.degrees(backwards=False).tolist() == [0, 2, 0, 0]
        assert graph.degrees(backwards=True).tolist() == [0, 0, 1, 1]
        assert graph.confidence.tolist() == pytest.approx([0.0, 0.0, second, factor])
