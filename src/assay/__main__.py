"""The `assay` command, also as `python -m assay`."""

import sys


def main() -> None:
    """Ask a server of this user for the repository; without one, run the command here."""
    from assay.serve.local.client import ask_server

    code = ask_server(sys.argv[1:])
    if code is not None:
        sys.exit(code)
    from assay.cli import main as run_command

    run_command()


if __name__ == "__main__":  # a process that works for this one imports it, too
    main()
