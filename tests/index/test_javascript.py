"""JavaScript and TypeScript idioms of large applications: assigned classes, objects passed to a call, Flow types."""

from __future__ import annotations

import pytest

from assay.index.extract import extract
from assay.index.facts import FileFacts, decode_facts
from assay.languages import by_name


def _facts(source: str, language: str = "javascript") -> FileFacts:
    return decode_facts(extract(source.encode(), by_name()[language]).facts)


def _symbols(source: str, language: str = "javascript") -> dict[str, str]:
    return {symbol.symbol: symbol.kind for symbol in _facts(source, language).symbols}


@pytest.mark.parametrize("target", ["module.exports", "exports.Basket", "shop.Basket"])
def test_a_class_that_is_assigned_has_its_own_name_and_its_members(target: str) -> None:
    found = _symbols(f"{target} = class Basket {{\n  constructor(deps) {{ this.deps = deps; }}\n  pay() {{}}\n}};\n")
    assert found["Basket"] == "class"
    assert found["Basket.constructor"] == "constructor"
    assert found["Basket.pay"] == "method"
    assert found["Basket.deps"] == "field"


@pytest.mark.parametrize("language", ["javascript", "typescript"])
def test_functions_of_an_object_passed_to_a_call_are_methods_of_the_name_it_is_bound_to(language: str) -> None:
    source = (
        "const Comment = Model.extend({\n  defaults: function () {},\n  post() {},\n  late: () => 1,\n  size: 3,\n});\n"
    )
    assert _symbols(source, language) == {
        "Comment": "variable", "Comment.defaults": "method", "Comment.post": "method", "Comment.late": "method",
    }  # fmt: skip


@pytest.mark.parametrize("language", ["javascript", "typescript"])
def test_functions_of_an_exported_object_are_functions_of_the_module(language: str) -> None:
    for source in (
        "export default define({\n  id: 'x',\n  handler: async () => 1,\n});\n",
        "export default { handler() {} };\n",
    ):
        assert _symbols(source, language) == {"handler": "function"}


def test_an_object_passed_to_a_call_inside_a_function_defines_nothing() -> None:
    assert _symbols("function start() {\n  const hook = use({ run() {} });\n  return hook;\n}\n") == {
        "start": "function"
    }


FLOW = """\
// @flow
import type { Query } from './query';

type Options = { limit?: number };

export class Store {
  adapter: Adapter;
  find(name: string, query: ?Query, { limit }: Options = {}): Promise<any> {
    return this.adapter.find(name, query, limit);
  }
}

const filter = (rows: any[], user?: string): boolean => rows.length > 0;
"""


def test_javascript_with_flow_types_is_read_by_the_grammar_that_has_fewer_errors() -> None:
    found = _symbols(FLOW)
    assert found["Store"] == "class"
    assert found["Store.find"] == "method"
    assert found["filter"] == "function"
    assert _facts(FLOW).language == "tsx"


def test_plain_javascript_and_broken_javascript_stay_javascript() -> None:
    assert _facts("class A { b() {} }\n").language == "javascript"
    broken = _facts("class A { b() {} \nfunction ( { { ]\n")
    assert broken.language == "javascript"
    assert broken.errors > 0
