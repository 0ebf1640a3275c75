"""Tune the rivals of thrifty and write docs/tuning.md: `python -m benchmarks.tuning`.

Results are kept in the folder `tuning`, so that a run can be interrupted. Copy the winners to
src/thrifty/lab/arena/rivals.toml: a test compares them.
"""

import argparse
from pathlib import Path

from thrifty.lab.arena.tuning import HORIZON, REPLICATIONS, tune, tuning_page, winner
from thrifty.report.markdown import write_markdown

PAGE = Path(__file__).parent.parent / "docs" / "tuning.md"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", default="tuning", metavar="DIR")
    parser.add_argument("--page", default=PAGE, metavar="FILE")
    parser.add_argument("--horizon", type=float, default=HORIZON)
    parser.add_argument("--replications", type=int, default=REPLICATIONS)
    arguments = parser.parse_args()
    tried = tune(
        Path(arguments.out), horizon=int(arguments.horizon), replications=arguments.replications
    )
    write_markdown(tuning_page(tried), Path(arguments.page))
    for name, grid in tried.items():
        print(f"{name}: {winner(grid).policy}")


if __name__ == "__main__":
    main()
