"""MCP tools: parsed arguments in, text within the token budget out. Errors are one-line AssayErrors."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from assay.api import Repository
from assay.core.items import EXTERNAL
from assay.core.packs import NAME, Heading, Ranked
from assay.errors import AssayError
from assay.pack.context import Context
from assay.pack.questions import Files, Question, Review, Task
from assay.rank.impact import Affected
from assay.rank.neighbourhood import Relation
from assay.search.hits import SearchHit
from assay.search.query import parse
from assay.serve import requests
from assay.serve.mcp.conversation import SENT, Conversation, UsageLog
from assay.serve.watch import Resident, WorkspaceResident
from assay.serve.watch.first_look import FirstLook, Match
from assay.store.index import NoIndex, UnusableIndex
from assay.text.display import counted, one_line, path_mark, printable
from assay.text.tokens import count

_WAIT = 0.3  # seconds for an index that is nearly built
_MAX_NAMED = 3  # files or symbols named in a summary line
_UNSURE_BUDGET = 2_000  # tokens of an answer that is probably not in the repository
_MIN_ITEMS, _TOKENS_PER_BODY = 5, 100  # low estimate: leftover budget goes to signatures
_MAX_RECORDED = 10  # items recorded as shown: not requesting the fortieth is no evidence against it
_PROFILES = {"know": None, "change": "change"}  # aim → ranking profile; None: default of assay.toml
_OUTLINE_HINT = "outline; for bodies ask context with symbols=[names below], or with detail=full"
_REPEAT_HINT = "repeat=true sends again what was sent before"


class Cancelled(AssayError):
    """The client cancelled the request."""


@dataclass(frozen=True)
class Call:
    """A tool call and its dependencies."""

    resident: Resident | WorkspaceResident
    first: FirstLook  # index-free search, used until the index is built
    conversation: Conversation
    notes: UsageLog
    stop: threading.Event

    @property
    def session(self) -> str:
        return self.conversation.name if self.notes.on else ""

    @contextlib.contextmanager
    def repository(self) -> Iterator[Repository]:
        """Lease the repository. Raises NoIndex if its index is not built within a short wait."""
        self.resident.own().check_folder()
        if not self.resident.wait(_WAIT):
            raise self._no_index()
        self.check()
        with self.resident.using() as repo:
            try:
                repo.index  # noqa: B018 (raises)
            except UnusableIndex:  # damaged, or of another version: the keeper rebuilds it
                raise self._no_index() from None
            yield repo

    def _no_index(self) -> NoIndex:
        self.resident.look()
        return NoIndex(f"this needs the index, which is {self.resident.state.building}")

    def check(self) -> None:
        if self.stop.is_set():
            raise Cancelled("cancelled")


# context


def context(call: Call, args: requests.Context) -> str:
    _check_context(args)
    try:
        with call.repository() as repo:
            return _pack_context(call, repo, args)
    except NoIndex:
        if not args.task.strip():
            raise
        return _search_without_index(call, args.task, args.budget)


def _check_context(args: requests.Context) -> None:
    options = {"symbols": args.symbols, "files": args.files, "pr": args.pr is not None}
    subjects = [name for name, value in options.items() if value]
    if len(subjects) > 1 or (subjects and subjects != ["files"] and args.task.strip()):
        raise AssayError("ask about one thing: a task, symbols, files (perhaps with a task), or pr")
    if not subjects and not args.task.strip():
        raise AssayError(
            "what is the task? Say in words what you want to understand or change, or give symbols, files or pr"
        )


def _pack_context(call: Call, repo: Repository, args: requests.Context) -> str:
    if args.symbols:
        return _pack_symbols(call, repo, args)
    question = _make_question(call, repo, args)
    ranked, heading = question.found()
    call.check()
    source = repo.source
    full = args.detail == "full"
    budget = args.budget if heading.sure else min(args.budget, _UNSURE_BUDGET)
    shown = call.conversation.limit_rendering(
        ranked[: _item_limit(budget)] if full else ranked, source, full, args.repeat
    )
    note = _OUTLINE_HINT if ranked and not full else ""
    scope = "; ".join(filter(None, (heading.scope, note)))
    heading = replace(heading, task="", scope=scope, freshness=_freshness(call, repo, question.stale), pending="")
    packed = Context.of(shown, budget, source, heading, "text")
    call.conversation.remember(packed.items, source)
    if args.task and not args.files:
        recorded = [packed_item.item for packed_item in packed.items if packed_item.rendering != NAME]
        call.notes.given(call.session, recorded[:_MAX_RECORDED], args.task)
    return packed.render()


def _item_limit(budget: int) -> int:
    """Return the number of items to pack with bodies: names of more would use up the budget."""
    return max(_MIN_ITEMS, budget // _TOKENS_PER_BODY)


def _make_question(call: Call, repo: Repository, args: requests.Context) -> Question:
    if args.pr is not None:
        return Review(repo, budget=args.budget, wanted=args.pr)
    if args.files:
        return Files(repo, budget=args.budget, files=args.files, task=args.task)
    return Task(repo, _PROFILES[args.aim], budget=args.budget, task=args.task, session=call.session)


def _pack_symbols(call: Call, repo: Repository, args: requests.Context) -> str:
    """Pack symbols by name, with bodies as far as the budget allows."""
    items = dict.fromkeys(item for name in args.symbols for item in repo.symbol(name))
    source = repo.source
    ranked = call.conversation.limit_rendering(
        [Ranked(item, 1.0) for item in items], source, bodies=True, repeat=args.repeat
    )
    note = _REPEAT_HINT if any(SENT in candidate.why for candidate in ranked) else ""
    heading = Heading(freshness=_freshness(call, repo, repo.freshness().stale), scope=note)
    packed = Context.of(ranked, args.budget, source, heading, "text")
    call.conversation.remember(packed.items, source)
    return packed.render()


def _stale_warning(call: Call, repo: Repository) -> str:
    """Return a staleness line, or an empty string while the index is fresh."""
    freshness = _freshness(call, repo, repo.freshness().stale)
    return f"index: {freshness}\n" if freshness else ""


def _freshness(call: Call, repo: Repository, stale: Sequence[str]) -> str:
    """Describe stale files, or what is still to come, and request a refresh; empty while the index is up to date."""
    if not stale:
        if pending := repo.pending:
            call.resident.look()
        return pending
    call.resident.look()
    names = ", ".join(stale[:_MAX_NAMED]) + (" …" if len(stale) > _MAX_NAMED else "")
    state = call.resident.state
    return f"{counted(len(stale), 'file')} changed since ({names}); " + (
        f"indexing failed: {state.why}" if state.why else "being indexed, ask again in a moment"
    )


# the other tools


def search(call: Call, args: requests.Search) -> str:
    try:
        with call.repository() as repo:
            return _search(call, repo, args)
    except NoIndex:
        return _search_without_index(call, args.query, args.budget)


def _search(call: Call, repo: Repository, args: requests.Search) -> str:
    _check_searchable(call, repo)
    code, documents = args.only != "documents", args.only != "code"
    results = repo.search(args.query, args.limit, paths=args.paths, documents=documents, code=code)
    head = _stale_warning(call, repo) + "".join(f"{one_line(note)}\n" for note in results.notes)
    if results:
        return fit_to_budget(head, [_format_passage(result) for result in results], args.budget)
    if not parse(args.query).is_plain:
        hint = "without some of the filters and exact parts"
    else:
        filtered = args.paths or args.only != "all"
        hint = "without paths and only" if filtered else "with other words, or context with a task"
    return fit_to_budget(f"{head}nothing found among {repo.searched()}; try {hint}\n", [], args.budget)


def _check_searchable(call: Call, repo: Repository) -> None:
    resident = call.resident
    if not (resident.wait_to_search(0) or repo.is_searchable() or resident.wait_to_search(_WAIT)):
        raise NoIndex("passages are still being built")


def _format_passage(result: SearchHit) -> str:
    snippet = (f"{number}: {line}" if number else line for number, line in result.numbered_snippet())
    lines = [f"{path_mark(result.path)}{result.place}  {result.title}".rstrip(), *(f"    {line}" for line in snippet)]
    return "".join(f"{one_line(line)}\n" for line in lines)


def ask(call: Call, args: requests.Ask) -> str:
    from assay.answer.reply import render_reply

    try:
        with call.repository() as repo:
            _check_searchable(call, repo)
            # check for cancellation at every token a model streams
            reply = repo.ask(args.question, paths=args.paths, show=lambda _text: call.check())
            warning = _stale_warning(call, repo)
    except NoIndex:
        return _search_without_index(call, args.question, args.budget)
    return fit_to_budget(warning, [f"{line}\n" for line in render_reply(reply, "text").split("\n")], args.budget)


def why(call: Call, args: requests.Why) -> str:
    from assay.rank.explain import render_explanation

    with call.repository() as repo:
        explained = repo.why(args.task, args.symbol, profile=_PROFILES[args.aim], session=call.session)
        warning = _stale_warning(call, repo)
    return fit_to_budget(
        warning,
        [f"{one_line(line)}\n" for explanation in explained for line in render_explanation(explanation)],
        args.budget,
    )


def impact(call: Call, args: requests.Impact) -> str:
    try:
        with call.repository() as repo:
            changed = repo.symbol(args.symbol)
            dependents = repo.impact(args.symbol, depth=args.depth, everything=args.tests)
            around = [] if args.tests else repo.surroundings(args.symbol, [dependent.item for dependent in dependents])
            warning = _stale_warning(call, repo)
    except NoIndex:
        return _search_without_index(call, args.symbol.rpartition("::")[2], args.budget)
    shown = [dependent for dependent in dependents if dependent.item.test] if args.tests else dependents
    names = ", ".join(f"{item.symbol} ({item.path}:{item.start})" for item in changed[:_MAX_NAMED])
    names += f" and {len(changed) - _MAX_NAMED} more" if len(changed) > _MAX_NAMED else ""
    if not shown:
        summary = f"no {'tests reach' if args.tests else 'callers of'} {names} within {args.depth} steps\n"
    else:
        summary = f"{counted(len(shown), 'test' if args.tests else 'symbol')} would notice a change of {names}\n"
    lines = [*map(_format_affected, shown), *map(_format_relation, around)]
    return fit_to_budget(warning + summary, lines, args.budget)


def _format_affected(dependent: Affected) -> str:
    name = dependent.item.symbol or "(file)"
    confidence = "" if dependent.confidence == 1 else f", {dependent.confidence:.0%} sure"
    text = f"{dependent.depth} {dependent.item.path}:{dependent.line} {name}: {dependent.edge} {dependent.through.rpartition('::')[2]}{confidence}"
    text += f" ({dependent.detail})" if dependent.detail else ""
    return f"{one_line(text)}\n"


def _format_relation(relation: Relation) -> str:
    ends = (end.removeprefix(EXTERNAL) for end in (relation.source, relation.target))
    text = f" {relation.type} ".join(ends) + (f" ({relation.detail})" if relation.detail else "")
    return f"{one_line(text)}\n"


def feedback(call: Call, args: requests.Feedback) -> str:
    if not args.useful and not args.not_useful:
        raise AssayError("name symbols that were useful, or not_useful")
    if not call.notes.on:
        raise AssayError("this server was started with --no-learning: nothing is kept")
    with call.repository() as repo:
        judged = [([repo.one_symbol(name) for name in names], useful)
                for names, useful in ((args.useful, True), (args.not_useful, False))]  # fmt: skip
        for label, member in repo.members.items():
            member_judged = [(repo.own(items).get(label, []), useful) for items, useful in judged]
            if any(items for items, _ in member_judged):
                with member.feedback() as store:
                    for items, useful in member_judged:
                        store.judge(items, useful, args.task)
    return f"noted: {len(judged[0][0])} useful, {len(judged[1][0])} not useful\n"


# without an index


def _search_without_index(call: Call, text: str, budget: int) -> str:
    """Answer by index-free search, with the progress of the index."""
    call.check()
    look = call.first.look(text, call.stop)
    head = f"the index is {call.resident.state.building}.\n"
    head += f"Until then, {look}"
    if not look.matches:
        return fit_to_budget(f"{head}: nothing found\n", [], budget)
    return fit_to_budget(f"{head}:\n", [_format_match(match) for match in look.matches], budget)


def _format_match(match: Match) -> str:
    lines = [f"{path_mark(match.path)}{match.path}", *(f"  {number}: {line}" for number, line in match.lines)]
    return "".join(f"{one_line(line)}\n" for line in lines)


# answers within a token budget

_LEFT_OUT = "… {} more; ask with a larger budget\n"


def fit_to_budget(head: str, pieces: Sequence[str], budget: int) -> str:
    """Join a head and as many pieces, best first, as fit into the budget; append the number left out."""
    texts = [printable(piece) for piece in pieces]
    head = truncate_lines(printable(head), budget)
    remaining = budget - count(head)
    costs = [count(text) for text in texts]
    if sum(costs) <= remaining:
        return head + "".join(texts)
    remaining -= count(_LEFT_OUT.format(len(texts)))
    shown = 0
    while shown < len(texts) and costs[shown] <= remaining:
        remaining -= costs[shown]
        shown += 1
    return head + "".join(texts[:shown]) + (_LEFT_OUT.format(len(texts) - shown) if remaining >= 0 else "")


def truncate_lines(text: str, budget: int) -> str:
    """Return the leading lines of a text that fit into the budget."""
    fitting = ""
    for line in text.splitlines(keepends=True):
        if count(fitting + line) > budget:
            break
        fitting += line
    return fitting
