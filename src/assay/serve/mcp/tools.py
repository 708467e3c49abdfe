"""What the tools do: arguments in, a text within its budget out. Errors are AssayErrors of one line."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from assay import feedback as learn
from assay.api import Repository
from assay.core.packs import NAME, Heading, Ranked
from assay.errors import AssayError
from assay.index.scan import check_root
from assay.pack.context import Context
from assay.pack.questions import Files, Question, Review, Task
from assay.pack.render.form import one_line
from assay.rank.impact import Affected
from assay.rank.symbols import require_one
from assay.search.search import Found
from assay.serve.mcp import arguments
from assay.serve.mcp.arguments import SENT, Conversation, Notes, fitted
from assay.serve.watch import Resident, Residents
from assay.serve.watch.first_look import FirstLook, Match
from assay.store.index import NoIndex, UnusableIndex
from assay.text.display import counted

_WAIT = 0.3  # seconds for an index that is nearly there
_NAMED = 3  # files in a line about freshness
_FEWEST, _TOKENS_PER_BODY = 5, 100  # short bodies: what remains is better spent on signatures than on nothing
_GIVEN = 10  # of an answer that are taken for offered: that nobody asks for the fortieth name says nothing
_PROFILES = {"know": None, "change": "change"}  # by the aim of a question; None: as assay.toml has it
_OUTLINE = "outline; for bodies ask context with symbols=[names below], or with detail=full"
_AGAIN = "repeat=true sends again what was sent before"


class Cancelled(AssayError):
    """Nobody waits for the answer any more."""


@dataclass(frozen=True)
class Call:
    """One call of a tool, and all it may use."""

    resident: Resident | Residents
    first: FirstLook  # what answers while there is no index
    conversation: Conversation
    notes: Notes
    stop: threading.Event

    @property
    def session(self) -> str:
        return self.conversation.name if self.notes.on else ""

    @contextlib.contextmanager
    def repository(self) -> Iterator[Repository]:
        """The repository; raises NoIndex when its index is not there soon."""
        for root in self.resident.roots:
            check_root(root)
        if not self.resident.wait(_WAIT):
            raise self._no_index()
        self.check()
        with self.resident.using() as repo:
            try:
                repo.index  # noqa: B018 (raises)
            except UnusableIndex:  # damaged, or of another version: the keeper makes it anew
                raise self._no_index() from None
            yield repo

    def _no_index(self) -> NoIndex:
        self.resident.look()
        return NoIndex(f"this needs the index, which is {self.resident.state.building}")

    def check(self) -> None:
        if self.stop.is_set():
            raise Cancelled("cancelled")


# context


def context(call: Call, asked: arguments.Context) -> str:
    _check_context(asked)
    try:
        with call.repository() as repo:
            return _context(call, repo, asked)
    except NoIndex:
        if not asked.task.strip():
            raise
        return _first_look(call, asked.task, asked.budget)


def _check_context(asked: arguments.Context) -> None:
    about = {"symbols": asked.symbols, "files": asked.files, "pr": asked.pr is not None}
    given = [name for name, value in about.items() if value]
    if len(given) > 1 or (given and given != ["files"] and asked.task.strip()):
        raise AssayError("ask about one thing: a task, symbols, files (perhaps with a task), or pr")
    if not given and not asked.task.strip():
        raise AssayError(
            "what is the task? Say in words what you want to understand or change, or give symbols, files or pr"
        )


def _context(call: Call, repo: Repository, asked: arguments.Context) -> str:
    if asked.symbols:
        return _bodies(call, repo, asked)
    question = _question(call, repo, asked)
    ranked, heading = question.found()
    call.check()
    source = repo.source
    full = asked.detail == "full"
    shown = call.conversation.adapted(
        ranked[: _bodies_in(asked.budget)] if full else ranked, source, full, asked.repeat
    )
    note = _OUTLINE if ranked and not full else ""
    scope = "; ".join(filter(None, (heading.scope, note)))
    heading = replace(heading, task="", scope=scope, freshness=_freshness(call, question.stale))
    packed = Context.of(shown, asked.budget, source, heading, "text")
    call.conversation.remember(packed.items, source)
    if asked.files:
        call.notes.used(call.session, paths=asked.files)
    elif asked.task:
        told = [one.item for one in packed.items if one.rendering != NAME]
        call.notes.given(call.session, told[:_GIVEN], asked.task)
    return packed.render()


def _bodies_in(budget: int) -> int:
    """How many items are worth naming where bodies are wanted: names of more would leave no room for them."""
    return max(_FEWEST, budget // _TOKENS_PER_BODY)


def _question(call: Call, repo: Repository, asked: arguments.Context) -> Question:
    if asked.pr is not None:
        return Review(repo, budget=asked.budget, wanted=asked.pr)
    if asked.files:
        return Files(repo, budget=asked.budget, files=asked.files, task=asked.task)
    return Task(repo, _PROFILES[asked.aim], budget=asked.budget, task=asked.task, session=call.session)


def _bodies(call: Call, repo: Repository, asked: arguments.Context) -> str:
    """Symbols by name, in full as far as the budget goes."""
    items = dict.fromkeys(item for name in asked.symbols for item in repo.symbol(name))
    source = repo.source
    ranked = call.conversation.adapted([Ranked(item, 1.0) for item in items], source, bodies=True, repeat=asked.repeat)
    note = _AGAIN if any(SENT in one.why for one in ranked) else ""
    heading = Heading(freshness=_freshness(call, repo.freshness().stale), scope=note)
    packed = Context.of(ranked, asked.budget, source, heading, "text")
    call.conversation.remember(packed.items, source)
    call.notes.used(call.session, asked.symbols)
    return packed.render()


def _warning(call: Call, repo: Repository) -> str:
    """A line about what is not as it was indexed; none while the index is fresh."""
    told = _freshness(call, repo.freshness().stale)
    return f"index: {told}\n" if told else ""


def _freshness(call: Call, stale: Sequence[str]) -> str:
    """Nothing while the index is fresh; else what is not as it was indexed, and that this is being seen to."""
    if not stale:
        return ""
    call.resident.look()
    names = ", ".join(stale[:_NAMED]) + (" …" if len(stale) > _NAMED else "")
    state = call.resident.state
    return f"{counted(len(stale), 'file')} changed since ({names}); " + (
        f"indexing failed: {state.why}" if state.why else "being indexed, ask again in a moment"
    )


# the other tools


def search(call: Call, asked: arguments.Search) -> str:
    try:
        with call.repository() as repo:
            return _searched(call, repo, asked)
    except NoIndex:
        return _first_look(call, asked.query, asked.budget)


def _searched(call: Call, repo: Repository, asked: arguments.Search) -> str:
    _check_searchable(call, repo)
    code, documents = asked.only != "documents", asked.only != "code"
    found = repo.search(asked.query, asked.limit, paths=asked.paths, documents=documents, code=code)
    if found:
        return fitted(_warning(call, repo), [_passage(one) for one in found], asked.budget)
    confined = asked.paths or asked.only != "all"
    hint = "without paths and only" if confined else "with other words, or context with a task"
    return fitted(f"nothing found among {repo.searched()}; try {hint}\n", [], asked.budget)


def _check_searchable(call: Call, repo: Repository) -> None:
    resident = call.resident
    if not (resident.wait_to_search(0) or repo.is_searchable() or resident.wait_to_search(_WAIT)):
        raise NoIndex("documents are still being divided")


def _passage(one: Found) -> str:
    lines = [f"{one.place}  {one.title}".rstrip(), *(f"    {line}" for line in one.snippet())]
    return "".join(f"{one_line(line)}\n" for line in lines)


def ask(call: Call, asked: arguments.Ask) -> str:
    from assay.answer.reply import rendered

    try:
        with call.repository() as repo:
            _check_searchable(call, repo)
            # a model that writes is asked at every word whether anybody still waits
            reply = repo.ask(asked.question, paths=asked.paths, show=lambda _text: call.check())
            warning = _warning(call, repo)
    except NoIndex:
        return _first_look(call, asked.question, asked.budget)
    return fitted(warning, [f"{line}\n" for line in rendered(reply, "text").split("\n")], asked.budget)


def why(call: Call, asked: arguments.Why) -> str:
    from assay.rank.explain import told

    with call.repository() as repo:
        explained = repo.why(asked.task, asked.symbol, profile=_PROFILES[asked.aim], session=call.session)
        warning = _warning(call, repo)
    call.notes.used(call.session, [asked.symbol])
    return fitted(warning, [f"{one_line(line)}\n" for one in explained for line in told(one)], asked.budget)


def impact(call: Call, asked: arguments.Impact) -> str:
    try:
        with call.repository() as repo:
            changed = repo.symbol(asked.symbol)
            found = repo.impact(asked.symbol, depth=asked.depth, everything=asked.tests)
            warning = _warning(call, repo)
    except NoIndex:
        return _first_look(call, asked.symbol.rpartition("::")[2], asked.budget)
    call.notes.used(call.session, [asked.symbol])
    wanted = [one for one in found if one.item.test] if asked.tests else found
    names = ", ".join(f"{item.symbol} ({item.path}:{item.start})" for item in changed[:_NAMED])
    names += f" and {len(changed) - _NAMED} more" if len(changed) > _NAMED else ""
    if not wanted:
        said = f"nothing here reaches it: searched {asked.depth} steps of calls from {names}\n"
    else:
        said = f"{counted(len(wanted), 'test' if asked.tests else 'symbol')} would notice a change of {names}\n"
    return fitted(warning + said, [_affected(one) for one in wanted], asked.budget)


def _affected(one: Affected) -> str:
    who = one.item.symbol or "(file)"
    sure = "" if one.confidence == 1 else f", {one.confidence:.0%} sure"
    text = f"{one.depth} {one.item.path}:{one.line} {who}: {one.edge} {one.through.rpartition('::')[2]}{sure}"
    return f"{one_line(text)}\n"


def feedback(call: Call, asked: arguments.Feedback) -> str:
    if not asked.useful and not asked.not_useful:
        raise AssayError("name symbols that were useful, or not_useful")
    if not call.notes.on:
        raise AssayError("this server was started with --no-learning: nothing is kept")
    with call.repository() as repo:
        told = [([require_one(repo.index, name) for name in names], useful)
                for names, useful in ((asked.useful, True), (asked.not_useful, False))]  # fmt: skip
        for label, one in repo.members.items():
            own = [(repo.own(items).get(label, []), useful) for items, useful in told]
            if any(items for items, _ in own):
                with learn.learning(one.index, one.home, one.source) as learning:
                    for items, useful in own:
                        learning.judge(items, useful, asked.task)
    return f"noted: {len(told[0][0])} useful, {len(told[1][0])} not useful\n"


# before there is an index


def _first_look(call: Call, text: str, budget: int) -> str:
    """What a look at the files gives, and when to ask again."""
    call.check()
    found = call.first.look(text, call.stop)
    head = f"the index is {call.resident.state.building}.\n"
    head += f"Until then, {found}"
    if not found.matches:
        return fitted(f"{head}: nothing found\n", [], budget)
    return fitted(f"{head}:\n", [_match(one) for one in found.matches], budget)


def _match(one: Match) -> str:
    lines = [one.path, *(f"  {number}: {line}" for number, line in one.lines)]
    return "".join(f"{one_line(line)}\n" for line in lines)
