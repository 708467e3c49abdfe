"""`python -m assay`: the same as the `assay` command."""

from assay.cli import main

if __name__ == "__main__":  # a process that works for this one imports it, too
    main()
