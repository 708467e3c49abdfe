"""Facts about items from outside the code: compilers, language servers, traces of running services, project files.

`assay enrich` asks a tool for the definition behind every reference that our extractor recorded:

    tools.py      the table of tools, and the programs of the user's that they are
    process.py    start a program without secrets, within limits, and end all of it
    lsp.py        the protocol of language servers
    places.py     where the references and definitions of the indexed files stand
    answers.py    ask a tool about them, file by file, through a cache keyed by content
    compare.py    the tool's targets of calls against those of our resolver
    merge.py      write the edges into a new generation of the index
    scip.py       read and merge a SCIP index
    pipeline.py   all of it: choose tools, ask, compare, merge

`ingest.py`, `otlp.py` and `traces.py` read traces. `statements.py` is the step of `assay index` that reads manifests,
deployment and ownership files.
"""
