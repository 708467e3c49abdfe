"""Commands that write and check golden sets: create, convert, verify."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import click

from assay.cli.common import echo, find_root, format_option, print_json
from assay.cli.evaluation import options
from assay.cli.evaluation.options import echo_warnings
from assay.core.cautions import Caution, as_json, of_golden
from assay.core.golden import Expected, GoldenQuery, GoldenSet, Hit
from assay.errors import AssayError
from assay.evaluate.fixture_rules import fixture_cautions
from assay.evaluate.golden import FORMATS, WRITABLE, append, convert, load
from assay.evaluate.matching import matcher_for
from assay.evaluate.systems import System, SystemFailed, is_external, open_system
from assay.evaluate.verify import inventories, packages_of, verify
from assay.text.display import counted

Refusals = Callable[[Sequence[Expected]], list[str]]  # why expectations may not be added

_RESULTS = 10
_FORMAT, _WRITABLE = click.Choice(list(FORMATS)), click.Choice(WRITABLE)


@click.command("create")
@options.golden("The golden set to add to; created if missing.")
@click.option("--set-format", type=_WRITABLE, help="The format of a new set. Default: by path and expected items.")
@click.option("--question", metavar="TEXT", help="The question. Skips all prompts.")
@options.repeated("--expect-symbol", "symbol", metavar="NAME", help="An expected symbol; may be repeated.")
@options.repeated("--expect-file", "file", metavar="PATH", help="An expected file; may be repeated.")
@options.repeated("--expect-doc", "doc", metavar="ID", help="An expected document; may be repeated.")
@options.repeated("--expect-chunk", "chunk", metavar="ID", help="An expected chunk; may be repeated.")
@click.option("--negative", "refuse", is_flag=True, help="No answer exists: the right response is a refusal.")
@click.option("--id", "identity", metavar="ID", help="The query's id. Default: derived from the question.")
@click.option("--tier", default="", help="easy, medium or hard.")
@click.option("--category", default="", help="The kind of question.")
@options.repeated(
    "--tag", "tags", metavar=None, help="A tag; may be repeated. `critical` makes a gate fail when the query breaks."
)
@click.option("--notes", default="", help="Why this query exists.")
@click.option("--answer", default="", help="A reference answer, for people.")
@options.path(
    "--items",
    type=options.EXISTING_FILE,
    help="All retrievable items, if not those of the index and the folder: one id per line, or JSON objects.",
)
@click.option("--unverified", is_flag=True, help="Add expectations that do not exist, or cannot be looked up here.")
@options.system("The system to search with.")
@options.root
@format_option
def create_command(
    golden_path: Path,
    set_format: str | None,
    question: str | None,
    symbol: tuple[str, ...],
    file: tuple[str, ...],
    doc: tuple[str, ...],
    chunk: tuple[str, ...],
    refuse: bool,
    identity: str | None,
    items: Path | None,
    unverified: bool,
    spec: str,
    root: Path | None,
    form: str,
    **facts: Any,
) -> None:
    """Add a query to a golden set: type a question, see search results, pick the expected ones.

    With --question and --expect-… there are no prompts. What is expected must exist in the index, the folder or --items.
    The set is validated before it is replaced atomically.
    """
    root = find_root(root)
    if question is not None:
        by_level = {"symbol": symbol, "file": file, "doc": doc, "chunk": chunk}
        expected = tuple(Expected(name, level) for level, names in by_level.items() for name in names)
        if refuse == bool(expected):
            raise AssayError(
                "give either what is expected (--expect-symbol, --expect-file, --expect-doc, --expect-chunk) or --negative"
            )
        identity = identity or new_id(question, ids_in(golden_path))
        check = (lambda query: None) if unverified else partial(_require_existing, root=root, items=items)
        _add(GoldenQuery(identity, question, expected, refuse, **facts), golden_path, set_format, form, check)
        return
    system = _searcher(spec, root)
    refusals: Refusals = (lambda expected: []) if unverified else partial(_refusals, root=root, items=items)
    added = 0
    with closing(system) if system else nullcontext():
        try:
            while (new_query := _interview(system, golden_path, refusals)) is not None:
                _add(new_query, golden_path, set_format, form)
                added += 1
                if not click.confirm("another?", default=True):
                    return
        except click.exceptions.Abort:
            queries = counted(added, "query", "queries")
            echo(f"\nended: {queries} added to {golden_path}; the unfinished one is not written", err=True)
            raise click.exceptions.Exit(130) from None


def _refusals(expected: Sequence[Expected], root: Path, items: Path | None) -> list[str]:
    """Return why expectations may not be added: nothing has their name, or that cannot be checked here."""
    reasons = []
    golden = GoldenSet((GoldenQuery("", "", tuple(expected)),), "", "pairs", "")
    inventory = inventories(golden, root, None, items) if expected else {}
    for item in expected:
        missing, checked, _ = verify([GoldenQuery("", "", (item,))], inventory, matcher_for(golden, None))
        if missing:
            near = f" (nearest: {', '.join(missing[0].near)})" if missing[0].near else ""
            reasons.append(f"there is no {item.level} `{item.name}` in {items or root}{near}")
        elif not checked:
            reasons.append(
                f"{item.level} `{item.name}` cannot be checked: {root} has no index; build it with `assay index`"
            )
    return reasons


def _require_existing(query: GoldenQuery, root: Path, items: Path | None) -> None:
    """Raise AssayError for expectations that do not exist or cannot be looked up."""
    if reasons := _refusals(query.expected, root, items):
        raise AssayError(
            f"nothing was added: {'; '.join(reasons)}. For items that are elsewhere give --items FILE, or --unverified"
        )


def _add(
    query: GoldenQuery,
    path: Path,
    set_format: str | None,
    form: str,
    check: Callable[[GoldenQuery], None] = lambda query: None,
) -> None:
    """Append a query to the set and report fields its format cannot hold."""
    lost = append(query, path, set_format, check)
    _print_written({"id": query.id, "golden": str(path)}, f"added {query.id} to {path}", lost, form)


def _print_written(facts: dict[str, Any], message: str, lost: Sequence[str], form: str) -> None:
    if form == "json":
        print_json({**facts, "lost": lost})
        return
    echo(message)
    for line in lost:
        echo(f"lost: {line}", err=True)


def _searcher(spec: str, root: Path) -> System | None:
    """Open the system to search with; None if unavailable, then names are typed."""
    try:
        system = open_system(spec, root=root)
        system.describe()
        return system
    except AssayError as error:
        echo(f"search unavailable: {error}", err=True)
        return None


def _interview(system: System | None, path: Path, refusals: Refusals) -> GoldenQuery | None:
    """Prompt for a query; None to stop."""
    question = click.prompt("question (empty to stop)", default="", show_default=False).strip()
    if not question:
        return None
    expected = _pick(system, question, refusals)
    identity = click.prompt("id", default=new_id(question, ids_in(path)))
    tier = click.prompt(
        "tier", default="easy" if len(expected) < 2 else "medium", type=click.Choice(["easy", "medium", "hard"])
    )
    category = click.prompt("category", default="", show_default=False)
    notes = click.prompt("notes: why this query", default="", show_default=False)
    return GoldenQuery(identity, question, tuple(expected), not expected, tier, category, notes=notes)


def _pick(system: System | None, question: str, refusals: Refusals) -> list[Expected]:
    """Prompt for expected items until done: results by number, or names that exist; empty means a refusal is expected.

    Documents and chunks of a foreign system cannot be looked up here.
    """
    foreign = system is not None and is_external(system.name)
    picked: list[Expected] = []
    shown = _search(system, question)
    while True:
        typed = click.prompt(
            "expected: numbers, names (file:PATH, doc:ID, chunk:ID), /other words to search, - if there is no answer, empty when done",
            default="",
            show_default=False,
        ).strip()
        if typed.startswith("/"):
            shown = _search(system, typed[1:])
        elif typed == "-":
            return []
        elif typed:
            for expected, is_result in _parse_choices(typed.replace(",", " ").split(), shown):
                elsewhere = foreign and expected.level in ("doc", "chunk")
                reasons = [] if expected in picked or is_result or elsewhere else refusals([expected])
                if reasons:
                    echo(f"  {reasons[0]}")
                elif expected not in picked:
                    picked.append(expected)
            echo("  so far: " + (", ".join(expected.name for expected in picked) or "nothing"))
        elif picked:
            return picked
        else:
            echo("  nothing is expected yet; type - if the right answer is a refusal")


def _search(system: System | None, text: str) -> Sequence[Hit]:
    if system is None:
        return ()
    try:
        hits = system.retrieve(text, _RESULTS).hits
    except SystemFailed as error:
        echo(f"  the search failed: {error}", err=True)
        return ()
    for number, hit in enumerate(hits, 1):
        place = f"  {hit.path}:{hit.start}" if hit.path and hit.start else f"  {hit.path}"
        echo(f"  {number:2}  {hit.symbol or hit.id}{place if hit.path else ''}")
    if not hits:
        echo("  nothing found")
    return hits


def _parse_choices(typed: Iterable[str], shown: Sequence[Hit]) -> list[tuple[Expected, bool]]:
    """Convert result numbers and typed names to expected items, each with True if it is a result."""
    expected = []
    for token in typed:
        if token.isdigit():
            if not 1 <= int(token) <= len(shown):
                echo(f"  there is no result {token}")
                continue
            hit = shown[int(token) - 1]
            level = "symbol" if hit.symbol else "file" if hit.path == hit.id else "chunk"
            expected.append((Expected(hit.symbol or hit.id, level), True))
        else:
            level, colon, name = token.partition(":")
            has_level = colon and level in ("file", "doc", "chunk") and name
            expected.append((Expected(name, level) if has_level else Expected(token), False))
    return expected


def new_id(question: str, existing: set[str]) -> str:
    """Return an unused id from the first words of the question."""
    base = "-".join(re.findall(r"[a-z0-9]+", question.lower())[:6]) or "query"
    identity, number = base, 1
    while identity in existing:
        number += 1
        identity = f"{base}-{number}"
    return identity


def ids_in(path: Path) -> set[str]:
    """Return the ids of a set's queries; empty for a new or unusable set."""
    if not path.exists() or (path.is_file() and not path.stat().st_size):
        return set()
    try:
        return {query.id for query in load(path).queries}
    except AssayError:
        return set()  # appending reports the problem


# assay eval convert


@click.command("convert")
@click.argument("source", type=options.PATH)
@click.argument("target", type=options.PATH)
@click.option("--to", "to", type=_WRITABLE, required=True, help="The format to write.")
@click.option("--from", "source_format", type=_FORMAT, help="The format of SOURCE. Default: detected.")
@options.path(
    "--root", "corpus", metavar="DIR", help="With beir: the folder of the documents, written to corpus.jsonl."
)
@format_option
def convert_command(
    source: Path, target: Path, to: str, source_format: str | None, corpus: Path | None, form: str
) -> None:
    """Convert the golden set SOURCE to TARGET in another format, and list what that format cannot hold."""
    lost = convert(source, target, to, source_format, corpus)
    facts = {"source": str(source), "target": str(target), "format": to}
    _print_written(facts, f"wrote {target} ({to})", lost, form)


# assay eval verify


@click.command("verify")
@options.golden()
@options.matching("The matcher of the set. Default: by the set.")
@options.corpus("A folder with one indexed repository per sub-folder, for sets over several repositories.")
@options.path(
    "--items",
    type=options.EXISTING_FILE,
    help="All retrievable items, if not those of the index: one id per line, or JSON objects as systems return them.",
)
@options.root
@format_option
def verify_command(
    golden_path: Path, matching: str | None, corpus: Path | None, items: Path | None, root: Path | None, form: str
) -> None:
    """Check that everything a golden set expects exists; a missing item would look like a ranking failure.

    Symbols, chunks and passages are looked up in the index, with the matcher of the run; files in the folder, documents
    of a BEIR set in its corpus. Warns of fixtures that break the rules for good ones. Exit code 1 when something is
    missing.
    """
    golden = load(golden_path)
    matcher = matcher_for(golden, matching)
    items_by_repository = inventories(golden, find_root(root), corpus, items)
    missing, checked, skipped = verify(golden.queries, items_by_repository, matcher)
    root_path = find_root(root)
    if not checked and skipped:
        raise AssayError(
            f"{golden_path}: cannot check expectations at level {', '.join(golden.levels)}: {corpus or root_path} has no index. "
            "Build it with `assay index`, name the repository with --root DIR, or list what can be retrieved with --items FILE."
        )
    cautions = of_golden(golden)
    if golden.format == "fixtures":
        cautions += fixture_cautions(golden.queries, packages_of(items_by_repository, matcher))
    if checked == len(missing) > 1 and items is None:  # of one expectation, nothing follows
        cautions.append(_all_missing(golden, corpus or root_path))
    if form == "json":
        print_json(
            {
                "golden": str(golden_path),
                "format": golden.format,
                "queries": len(golden.queries),
                "checked": checked,
                "not_checkable": skipped,
                "missing": [entry.as_json() for entry in missing],
                "warnings": as_json(cautions),
            }
        )
    else:
        for entry in missing:
            echo(str(entry))
        note = f" ({skipped} more cannot be checked here)" if skipped else ""
        echo(
            f"{golden.format}: {len(golden.queries)} queries, {checked} expectations checked, {len(missing)} missing{note}"
        )
        echo_warnings(cautions)
    raise click.exceptions.Exit(1 if missing else 0)


def _all_missing(golden: GoldenSet, searched: Path) -> Caution:
    """Return the caution on a set of which nothing exists: the wrong folder, or another system's chunks."""
    if golden.levels == ("chunk",):
        message = (
            f"no chunk of this set is in the index of {searched}: `assay eval chunks` lists its ids; "
            "those of another system are checked with --items FILE"
        )
        return Caution("foreign-chunks", message)
    message = f"nothing of this set exists in {searched}: if it is about another repository, name that with --root DIR"
    return Caution("wrong-root", message)
