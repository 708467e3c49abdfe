"""Static analysis of regular expressions: can backtracking take more than linear time?

`re` tries alternatives one after another. Two of its paths can read the same text again and again if the pattern has
two loops, one after the other, that both read some text w, while the way from the first to the second reads w, too
(Weber and Seidl's criterion for ambiguity that grows with the text):

    p ──w──▶ p,  p ──w──▶ q,  q ──w──▶ q        e.g. `\\s*\\s*$`: p and q are the two loops, w is a space

Then the match of w…w is tried for every place where p can hand over to q. A search adds a loop of its own, which skips
text before the match: `\\s+$` is quadratic in a search. If q is at the end of the pattern, the first try succeeds.

The analysis builds the automaton of positions (Glushkov) from the tree of `re._parser`. Where it approximates, it errs
on the side of "slow": counted repetitions are read as up to three copies, atomic groups (except possessive loops of
single characters) and back-references as groups, conditions on more than a character as met.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import or_
from re import _constants as op  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any, NamedTuple, TypeVar

Triple = tuple[int, int, int]
State = TypeVar("State", int, Triple)

_MOST_COPIES = 3  # of the body of a counted repetition
_MOST_COUNTED = 256  # repetitions; more count as unbounded
_MOST_STATES = 20_000  # of a product of automata; a pattern beyond is not proved
_SAMPLES = "\0\t\n\v !.;0a_é☃٣\x85\x1c"  # characters of all categories, besides those around the limits of ranges


class Condition(NamedTuple):
    """A condition between two characters: sets of the one before and the one after, as bits."""

    before: int
    after: int
    free: bool = True  # nothing must hold, also at the end of the text
    at_end: bool = False  # the end of the text is enough

    def __and__(self, other: Condition) -> Condition:
        return Condition(
            self.before & other.before, self.after & other.after, self.free and other.free, self.at_end or other.at_end
        )


@dataclass
class Part:
    """A part of a pattern: the positions where it can begin and end, and the conditions under which it is empty."""

    first: list[tuple[int, Condition]] = field(default_factory=list)
    last: list[tuple[int, Condition]] = field(default_factory=list)
    empty: list[Condition] = field(default_factory=list)


class Automaton:
    """The positions of a pattern, each with the set of characters it reads, and the edges between them."""

    def __init__(self, pattern: re.Pattern[Any]) -> None:
        source, self.flags = pattern.pattern, pattern.flags
        tree = parser.parse(source, pattern.flags & ~re.DEBUG)
        self._is_bytes = isinstance(source, bytes)
        self.alphabet = self._alphabet(tree)
        self.all = (1 << len(self.alphabet)) - 1
        self.anything = Condition(self.all, self.all)
        self.labels: list[int] = []
        self.edges: list[dict[int, int]] = []  # position → next position → characters
        self.doubled: set[tuple[int, int]] = set()  # edges that exist twice
        self.aside: set[int] = set()  # positions of conditions: what they read is not consumed
        self._groups: dict[int, Any] = {}
        self.start = self._part(tree)

    # characters

    def _alphabet(self, tree: Any) -> str:
        """Return one character of each class that the pattern can tell apart."""
        characters = set(_SAMPLES)
        nodes = list(_character_nodes(tree))
        for kind, value in nodes:
            for code in _codes(kind, value):
                characters |= {
                    chr(c) for c in (code - 1, code, code + 1) if 0 <= c < (256 if self._is_bytes else 0x110000)
                }
                if self.flags & re.IGNORECASE:
                    characters |= {c for text in (chr(code).lower(), chr(code).upper()) for c in text}
        if self._is_bytes:
            characters = {character for character in characters if ord(character) < 256}
        classes: dict[tuple[bool, ...], str] = {}
        word = (op.IN, [(op.CATEGORY, op.CATEGORY_WORD)])
        for character in sorted(characters):
            signature = tuple(self._reads(node, character) for node in [*nodes, word, (op.LITERAL, 10)])
            classes.setdefault(signature, character)
        return "".join(classes.values())

    def _reads(self, node: tuple[Any, Any], character: str) -> bool:
        kind, value = node
        if kind is op.ANY:
            return character != "\n" or bool(self.flags & re.DOTALL)
        if kind is op.IN:
            negated = value[0][0] is op.NEGATE
            return negated != any(self._reads(part, character) for part in value[negated:])
        if kind is op.CATEGORY:
            return self._in_category(value, character)
        codes = {ord(c) for c in self._cases(character)}
        if kind is op.RANGE:
            return any(value[0] <= code <= value[1] for code in codes)
        return (value in codes) == (kind is op.LITERAL)

    def _cases(self, character: str) -> set[str]:
        if not self.flags & re.IGNORECASE:
            return {character}
        return {c for c in (character, character.lower(), character.upper()) if len(c) == 1}

    def _in_category(self, category: Any, character: str) -> bool:
        is_ascii = self._is_bytes or bool(self.flags & re.ASCII)
        name = str(category)
        kind = name.rpartition("_")[2]
        ascii_only = not is_ascii or character.isascii()
        holds = (
            ascii_only
            and {
                "DIGIT": character.isdecimal(),
                "SPACE": character.isspace(),
                "WORD": character.isalnum() or character == "_",
            }[kind]
        )
        return holds != ("_NOT_" in name)

    def _set(self, node: tuple[Any, Any]) -> int:
        return sum(1 << number for number, character in enumerate(self.alphabet) if self._reads(node, character))

    # structure

    def _position(self, label: int) -> Part:
        self.labels.append(label)
        self.edges.append({})
        number = len(self.labels) - 1
        return Part([(number, self.anything)], [(number, self.anything)])

    def _connect(self, last: Iterable[tuple[int, Condition]], first: Iterable[tuple[int, Condition]]) -> None:
        first = list(first)
        for source, left in last:
            for target, right in first:
                both = left & right
                characters = self.labels[target] & both.after
                if not characters or not self.labels[source] & both.before:
                    continue
                if self.edges[source].get(target, 0) & characters:
                    self.doubled.add((source, target))
                self.edges[source][target] = self.edges[source].get(target, 0) | characters

    def _part(self, tree: Any) -> Part:
        whole = Part(empty=[self.anything])
        for node in tree:
            whole = self._joined(whole, self._node(node))
        return whole

    def _joined(self, left: Part, right: Part) -> Part:
        self._connect(left.last, right.first)
        return Part(
            left.first + [(p, e & c) for e in left.empty for p, c in right.first],
            right.last + [(p, c & e) for p, c in left.last for e in right.empty],
            _at_most_twice(a & b for a in left.empty for b in right.empty),
        )

    def _node(self, node: tuple[Any, Any]) -> Part:
        kind, value = node
        if kind in (op.LITERAL, op.NOT_LITERAL, op.ANY, op.IN):
            return self._position(self._set(node))
        if kind is op.BRANCH:
            parts = [self._part(tree) for tree in value[1]]
            return Part(
                [e for part in parts for e in part.first],
                [e for part in parts for e in part.last],
                _at_most_twice(condition for part in parts for condition in part.empty),
            )
        if kind is op.SUBPATTERN:
            group, added, removed, tree = value
            if group is not None:
                self._groups[group] = tree
            outer, self.flags = self.flags, (self.flags | added) & ~removed
            part = self._part(tree)
            self.flags = outer
            return part
        if kind is op.ATOMIC_GROUP:
            return self._part(value)
        if kind is op.GROUPREF:
            return self._part(self._groups[value])
        if kind is op.GROUPREF_EXISTS:
            yes, no = self._part(value[1]), self._part(value[2] or [])
            return Part(yes.first + no.first, yes.last + no.last, yes.empty + no.empty)
        if kind in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
            least, most, tree = value
            return self._repeated(least, most, tree, kind is op.POSSESSIVE_REPEAT)
        if kind is op.AT:
            return Part(empty=self._at(value))
        if kind in (op.ASSERT, op.ASSERT_NOT):
            return self._assertion(kind is op.ASSERT, value[0] > 0, value[1])
        raise ValueError(f"not supported: {kind}")

    def _repeated(self, least: int, most: Any, tree: Any, possessive: bool) -> Part:
        is_loop = most is op.MAXREPEAT or most > _MOST_COUNTED
        copies = max(1, min(least, _MOST_COPIES)) if is_loop else min(most, _MOST_COPIES)
        whole = Part(empty=[self.anything])
        for copy in range(copies):
            part = self._part(tree)
            if is_loop and copy == copies - 1:
                self._connect(part.last, part.first)
                if (
                    possessive and len(tree) == 1 and len(part.first) == 1
                ):  # of single characters: it ends before another
                    (position, _), *_ = part.first
                    others = Condition(self.all, self.all & ~self.labels[position])
                    part = replace(part, last=[(p, c & others) for p, c in part.last])
            if copy >= least:
                part = replace(part, empty=[*dict.fromkeys([*part.empty, self.anything])])
            whole = self._joined(whole, part)
        return whole

    def _at(self, where: Any) -> list[Condition]:
        newline, word = self._set((op.LITERAL, 10)), self._set((op.IN, [(op.CATEGORY, op.CATEGORY_WORD)]))
        if where in (op.AT_BEGINNING, op.AT_BEGINNING_STRING):
            before = newline if where is op.AT_BEGINNING and self.flags & re.MULTILINE else 0
            return [Condition(before, self.all, False)]
        if where is op.AT_END:
            return [Condition(self.all, newline, False, at_end=True)]
        if where is op.AT_END_STRING:
            return [Condition(self.all, 0, False, at_end=True)]
        other = self.all & ~word
        if where is op.AT_BOUNDARY:
            return [Condition(word, other, False), Condition(other, word, False)]
        return [Condition(word, word, False), Condition(other, other, False)]

    def _assertion(self, positive: bool, ahead: bool, tree: Any) -> Part:
        single = self._single(tree)
        if single is not None:
            allowed = single if positive else self.all & ~single
            both = (self.all, allowed) if ahead else (allowed, self.all)
            return Part(empty=[Condition(*both, False)])
        if not ahead:
            return Part(empty=[Condition(self.all, self.all, False)])
        begin = len(self.labels)
        part = self._part(tree)
        self.aside |= set(range(begin, len(self.labels)))
        return Part(part.first, [], [Condition(self.all, self.all, False)])

    def _single(self, tree: Any) -> int | None:
        """Return the set of characters that a condition of one character, or the end of a line, allows."""
        if len(tree) != 1:
            return None
        kind, value = tree[0]
        if kind in (op.LITERAL, op.NOT_LITERAL, op.ANY, op.IN):
            return self._set(tree[0])
        if kind is op.AT and value in (op.AT_END, op.AT_END_STRING):
            return self._set((op.LITERAL, 10))
        if kind is op.SUBPATTERN:
            return self._single(value[3])
        if kind is op.BRANCH:
            sets = [self._single(branch) for branch in value[1]]
            return None if None in sets else reduce(or_, (characters for characters in sets if characters is not None))
        return None


def _at_most_twice(conditions: Iterable[Condition]) -> list[Condition]:
    out: list[Condition] = []
    for condition in conditions:
        if out.count(condition) < 2:
            out.append(condition)
    return out


def _character_nodes(tree: Any) -> Iterator[tuple[Any, Any]]:
    for kind, value in tree:
        if kind in (op.LITERAL, op.NOT_LITERAL, op.ANY, op.IN):
            yield kind, value
        elif kind is op.BRANCH:
            for branch in value[1]:
                yield from _character_nodes(branch)
        elif kind is op.SUBPATTERN:
            yield from _character_nodes(value[3])
        elif kind is op.ATOMIC_GROUP:
            yield from _character_nodes(value)
        elif kind is op.GROUPREF_EXISTS:
            yield from _character_nodes(value[1])
            yield from _character_nodes(value[2] or [])
        elif kind in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
            yield from _character_nodes(value[2])
        elif kind in (op.ASSERT, op.ASSERT_NOT):
            yield from _character_nodes(value[1])


def _codes(kind: Any, value: Any) -> list[int]:
    if kind in (op.LITERAL, op.NOT_LITERAL):
        return [value]
    if kind is op.RANGE:
        return list(value)
    return [code for part in value for code in _codes(*part)] if kind is op.IN else []


# Ambiguity


def slow_text(pattern: re.Pattern[Any], method: str = "search") -> str | None:
    """Return a text that makes a pattern slow if it is repeated, for one of its methods; None if time is linear."""
    automaton = Automaton(pattern)
    labels, edges, start = automaton.labels, automaton.edges, automaton.start
    count = len(labels)
    accepting = set()
    if method != "fullmatch":
        for position, condition in start.last:
            loops_to_end = condition.at_end and edges[position].get(position) == automaton.all
            if position not in automaton.aside and (condition.free or loops_to_end):
                accepting.add(position)
    if method not in ("match", "fullmatch"):  # a state for the skipped text, by its last character
        size = len(automaton.alphabet)
        covered = 0 if automaton.aside else _covered(automaton, edges, accepting)
        for number in range(size):
            edges.append({count + other: 1 << other for other in range(size)})
            again = covered if covered >> number & 1 else 0  # a match has read these
            for position, condition in start.first:
                characters = labels[position] & condition.after & ~again
                if condition.before >> number & 1 and characters:
                    edges[-1][position] = edges[-1].get(position, 0) | characters
    components = _components(range(len(edges)), lambda state: edges[state])
    number_of = {state: number for number, states in enumerate(components) for state in states}
    loops = [states for states in components if len(states) > 1 or states[0] in edges[states[0]]]
    for source, target in automaton.doubled:
        if number_of[source] == number_of[target] and source not in accepting:
            return _character(automaton, edges[source][target])
    reachable = _reachable(edges)
    for early in loops:
        for late in loops:
            if late[0] >= count or not reachable[early[0]] >= set(late):
                continue
            text = _ambiguous(automaton, edges, early, late, accepting, reachable)
            if text is not None:
                return text
    return None


def _covered(automaton: Automaton, edges: list[dict[int, int]], accepting: set[int]) -> int:
    """Return characters that a match of a single loop reads to their end, wherever it begins: `[A-Z]+` of `[A-Z]+x|[A-Z]+`."""
    for position, condition in automaton.start.first:
        is_whole = edges[position].get(position) == automaton.labels[position]
        if condition.free and position in accepting and is_whole:
            return automaton.labels[position]
    return 0


def _character(automaton: Automaton, characters: int) -> str:
    return next((c for n, c in enumerate(automaton.alphabet) if characters >> n & 1), "")


def _ambiguous(
    automaton: Automaton,
    edges: list[dict[int, int]],
    early: list[int],
    late: list[int],
    accepting: set[int],
    reachable: list[set[int]],
) -> str | None:
    """Return a text that leads from one loop to itself, to the other loop, and from there to itself."""
    targets = [q for q in late if q not in accepting]
    inside_early, inside_late = set(early), set(late)

    def following(node: Triple) -> dict[Triple, int]:
        p, between, q = node
        out: dict[Triple, int] = {}
        for p2, read in edges[p].items():
            if p2 not in inside_early:
                continue
            for q2, other in edges[q].items():
                if q2 not in inside_late or q2 in accepting or not (both := read & other):
                    continue
                for between2, third in edges[between].items():
                    if (between2 in inside_late or inside_late & reachable[between2]) and both & third:
                        out[p2, between2, q2] = both & third
        return out

    starts = [(p, p, q) for p in early for q in targets if p != q]
    graph: dict[Triple, dict[Triple, int]] = {}
    todo = list(starts)
    while todo:
        node = todo.pop()
        if node in graph:
            continue
        if len(graph) > _MOST_STATES:
            return "(too large to analyze)"
        graph[node] = following(node)
        p, between, q = node
        if between == q and p != q:
            graph[node].setdefault(
                (p, p, q), 0
            )  # the criterion: a way from (p, p, q) to (p, q, q) and, by this edge, back
        todo += graph[node]
    for component in _components(starts, lambda node: graph[node]):
        inside = set(component)
        if start := next(((p, b, q) for p, b, q in component if p == b and p != q and (p, q, q) in inside), None):
            return _way(automaton, graph, start, (start[0], start[2], start[2]))
    return None


def _way(automaton: Automaton, graph: dict[Triple, dict[Triple, int]], start: Triple, end: Triple) -> str:
    """Return the characters of a way in a graph."""
    texts = {start: ""}
    todo = deque([start])
    while todo:
        node = todo.popleft()
        for target, characters in graph[node].items():
            if target not in texts:
                texts[target] = texts[node] + _character(automaton, characters)
                todo.append(target)
    return texts[end]


def _reachable(edges: list[dict[int, int]]) -> list[set[int]]:
    out = []
    for state in range(len(edges)):
        seen, todo = {state}, [state]
        while todo:
            for target in edges[todo.pop()]:
                if target not in seen:
                    seen.add(target)
                    todo.append(target)
        out.append(seen)
    return out


def _components(states: Iterable[State], following: Callable[[State], Iterable[State]]) -> list[list[State]]:
    """Return the strongly connected components of a graph (Kosaraju)."""
    order: list[State] = []
    seen: set[State] = set()
    back: dict[State, list[State]] = defaultdict(list)
    for root in states:
        if root in seen:
            continue
        seen.add(root)
        stack = [(root, iter(following(root)))]
        while stack:
            state, targets = stack[-1]
            target = next(targets, None)
            if target is None:
                order.append(state)
                stack.pop()
                continue
            back[target].append(state)
            if target not in seen:
                seen.add(target)
                stack.append((target, iter(following(target))))
    out, placed = [], set[State]()
    for root in reversed(order):
        if root in placed:
            continue
        component, todo = [], [root]
        placed.add(root)
        while todo:
            state = todo.pop()
            component.append(state)
            for source in back[state]:
                if source not in placed:
                    placed.add(source)
                    todo.append(source)
        out.append(component)
    return out
