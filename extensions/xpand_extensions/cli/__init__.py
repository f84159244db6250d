"""The command `xpand`: a tour of the installed libraries on real data, and a table of libraries and capabilities.

Exit codes: 0, success; 1, a library failed or results disagree; 2, the command can't be run as given; 130, interrupted;
141, the reader has closed the output.
"""

import argparse
import errno
import io
import os
import sys
from collections.abc import Sequence
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from ._libraries import UsageError

__all__ = ["main"]
__dir__ = __all__.copy


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code.

    Args:
        argv: The arguments without the program's name. By default: those of the process.

    Raises:
        SystemExit: The parser raises it for unknown arguments (code 2), `--help` and `--version` (code 0).
    """
    parser = _parser()
    arguments = parser.parse_args(argv)
    if arguments.command is None:
        parser.print_help()
        return 0
    # The shell may have closed streams, as in `xpand info >&-`.
    if sys.stdout is None:
        return 141
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 (for the process)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without Unicode shows "?" instead of a traceback
    try:
        code = _run(arguments)
        sys.stdout.flush()
    except UsageError as error:
        sys.stderr.write(f"xpand {arguments.command}: error: {error}\n")
        return 2
    except KeyboardInterrupt:
        sys.stderr.write(f"xpand {arguments.command}: interrupted\n")
        return 130
    except OSError as error:
        is_closed = _is_of_closed_output(error)
        if not is_closed and error.errno != errno.ENOSPC:
            raise
        # A reader such as `head` has closed the output, or the disk is full. Buffered output must not raise at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if is_closed:
            return 141
        sys.stderr.write(f"xpand {arguments.command}: error: the output can't be written: {error.strerror}\n")
        return 2
    return code


def _is_of_closed_output(error: OSError) -> bool:
    return error.errno == errno.EPIPE or (error.errno == errno.EINVAL and os.name == "nt")  # Windows' code


def _run(arguments: argparse.Namespace) -> int:
    # Import late, so `--help` and errors of options appear immediately.
    try:
        if arguments.command == "info":
            from ._info import info

            return info(as_json=arguments.json)
        tour = load_tour()
    except ModuleNotFoundError as error:
        if error.name != "rich":
            raise
        raise UsageError("needs rich, which is not installed; `pip install 'xpand[cli]'` adds it") from error
    code: int = tour.tour(
        libraries=arguments.library,
        repeats=arguments.repeats,
        as_json=arguments.json,
        picture=None if arguments.no_picture else arguments.output,
        threads=arguments.threads,
    )
    return code


def load_tour() -> ModuleType:
    """Import the tour, an example in `docs/examples/tour`. Wheels store it next to this file."""
    name = f"{__name__}.tour"
    if name not in sys.modules:
        folders = (Path(__file__).parent / "tour", Path(__file__).parents[3] / "docs" / "examples" / "tour")
        file = next(folder for folder in folders if folder.is_dir()) / "__init__.py"
        spec = spec_from_file_location(name, file)
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


def _parser() -> argparse.ArgumentParser:
    from xpand import __version__

    parser = argparse.ArgumentParser(
        prog="xpand", description="Scientific Python written once, on every array library: what is here, and a tour."
    )
    parser.add_argument("--version", action="version", version=f"xpand {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")

    tour = commands.add_parser(
        "tour",
        help="run one source file on every installed library, on real data",
        description="Run one source file, written against the array API standard, on every installed library, on data "
        "that scikit-learn ships: standardise, PCA, ridge and logistic regression, k-means, a two-dimensional "
        "histogram, gradients, a compiled loop, a sparse solve, named axes. Prints the time of each and how far it is "
        "from NumPy in 64-bit floats, and draws the results.",
        epilog="Exit code: 0, all libraries agree; 1, one failed or is farther from NumPy than its precision allows; "
        "2, the tour could not be run as asked. JAX gets 64-bit types (JAX_ENABLE_X64=1, unless you set it).",
    )
    tour.add_argument(
        "--library",
        nargs="+",
        action="extend",
        metavar="NAME",
        help="run on these libraries only, such as `--library numpy torch` (default: all that are installed)",
    )
    tour.add_argument(
        "--repeats",
        type=_positive,
        default=3,
        metavar="N",
        help="time each task N times after a first run, and tell the shortest (default: %(default)s)",
    )
    tour.add_argument(
        "--threads",
        type=_positive,
        default=1,
        metavar="N",
        help="let each library use N threads (default: %(default)s, so that times are comparable on a busy machine)",
    )
    tour.add_argument("--json", action="store_true", help="print the results as JSON in place of a table")
    picture = tour.add_mutually_exclusive_group()
    picture.add_argument(
        "--output",
        type=Path,
        default=Path("tour.png"),
        metavar="FILE",
        help="where to save the picture; its ending says the format (default: %(default)s)",
    )
    picture.add_argument("--no-picture", action="store_true", help="draw nothing; needs no matplotlib")

    info = commands.add_parser(
        "info",
        help="list libraries, versions, devices and capabilities",
        description="List the array libraries, their versions and devices, and for each capability beyond the standard "
        "whether a library has it natively, by the version for all libraries, or not at all.",
        epilog="Exit code: 0, all is well; 1, a library is installed and can't be used.",
    )
    info.add_argument("--json", action="store_true", help="print JSON in place of tables")
    return parser


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"takes a whole number from 1, got {text!r}")
    return int(text)
