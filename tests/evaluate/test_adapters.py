"""Retrievers of LangChain and LlamaIndex as they are, judged by `assay.evaluate` and by their SPEC.

The packages are not dependencies: `make adapters` installs them in an environment of its own and runs this file there.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import assay
from support.workbench import Workbench

DOCUMENTS = {
    "docs/install.md": "Install it with pip.",
    "docs/keys.md": "Keys are rotated every ninety days.",
    "docs/proxy.md": "Behind a proxy set HTTPS_PROXY.",
}
GOLDEN = [
    {"id": "install", "question": "install with pip", "expected_files": ["docs/install.md"]},
    {"id": "keys", "question": "keys rotated", "expected_files": ["docs/keys.md"], "must_contain": ["ninety days"]},
    {"id": "proxy", "question": "behind a proxy", "expected_files": ["docs/proxy.md"]},
]

LANGCHAIN = f"""
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

DOCUMENTS = {DOCUMENTS!r}


class ByWords(BaseRetriever):
    k: int = 2

    def _get_relevant_documents(self, query, *, run_manager):
        wanted = set(query.lower().split())
        documents = [Document(page_content=text, metadata={{"source": path}}) for path, text in DOCUMENTS.items()]
        return sorted(documents, key=lambda d: -len(wanted & set(d.page_content.lower().strip(".").split())))[: self.k]


retriever = ByWords()
chain = retriever | (lambda documents: documents[:1])  # a Runnable
"""

LLAMAINDEX = f"""
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, TextNode

DOCUMENTS = {DOCUMENTS!r}
NODES = [TextNode(id_=f"node-{{path}}", text=text, metadata={{"file_path": path}}) for path, text in DOCUMENTS.items()]


class ByWords(BaseRetriever):
    def _retrieve(self, query_bundle):
        wanted = set(query_bundle.query_str.lower().split())
        scored = [NodeWithScore(node=n, score=float(len(wanted & set(n.text.lower().strip(".").split())))) for n in NODES]
        return sorted(scored, key=lambda found: -found.score)


retriever = ByWords()
"""


@pytest.mark.parametrize(
    ("package", "code", "names"),
    [("langchain_core", LANGCHAIN, ["retriever", "chain"]), ("llama_index.core", LLAMAINDEX, ["retriever"])],
)
def test_a_retriever_of_another_library_is_judged_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str, code: str, names: list[str]
) -> None:
    pytest.importorskip(package)
    bench = Workbench(tmp_path)
    bench.golden(GOLDEN)
    module = f"retriever_of_{package.partition('.')[0]}"
    bench.write(f"{module}.py", code)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    imported = __import__(module)
    for name in names:
        run = assay.evaluate(GOLDEN, getattr(imported, name))
        assert run.metrics["RR@10"] == 1.0
        assert run.metrics["phrase_recall"] == 1.0
        assert run.metrics["Cov@2000t"] == 1.0
        stored = bench.run(f"python:{module}:{name}")
        assert stored["metrics"]["RR@10"] == 1.0
