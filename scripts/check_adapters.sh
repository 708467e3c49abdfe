#!/bin/sh
# Judge LangChain and LlamaIndex retrievers, data frames and Parquet files with the real packages.
# They are no dependencies of assay: they are installed into a temporary environment, which is removed afterwards.
set -eu
cd "$(dirname "$0")/.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --editable . -c constraints.txt \
  pytest pytest-xdist hypothesis langchain-core llama-index-core pandas polars pyarrow "psycopg[binary]"
"$folder/venv/bin/python" -m pytest -n 0 -rs \
  tests/evaluate/test_adapters.py tests/evaluate/test_workbench.py tests/evaluate/test_golden_imports.py \
  tests/evaluate/test_system_recipes.py tests/security/test_hostile_imports.py
