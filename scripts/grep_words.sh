#!/bin/sh
# A retriever of five lines, to have something to compare with: the files with the most lines that contain a word of the query.
# usage: grep_words.sh QUERY K, in the folder to search
pattern=$(printf '%s' "$1" | tr -cs '[:alnum:]_' '\n' | awk 'length > 3' | paste -sd'|' -)
git grep --count --ignore-case --extended-regexp -e "${pattern:-$1}" -- ':!eval' | sort -t: -k2 -nr | cut -d: -f1 | head -n "$2"
