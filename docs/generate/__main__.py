"""Write what the pages take from the code.

python -m docs.generate presets      # the tables of settings, docs/understanding/method.md
python -m docs.generate examples     # the output of commands: command-line, README, labels, lab; trains on digits
python -m docs.generate pictures     # docs/images; trains on digits
python -m docs.generate rating       # docs/images/rating-*.png; trains on digits, needs chromium
python -m docs.generate screenshots  # docs/images/explorer-*.png; trains on the tables of an example, needs chromium
python -m docs.generate notebooks    # runs them and keeps their outputs
python -m docs.generate guides       # figures of the guides, out of results and searches
python -m docs.generate scale        # what 100 million nodes would take, docs/how-to/large-graphs.md
python -m docs.generate combinations # every pair of feature and data, docs/reference/what-works-together.md
python -m docs.generate all
"""

from __future__ import annotations

import argparse

from docs.generate.combinations import write_combinations
from docs.generate.examples import write_examples
from docs.generate.guides import write_guides
from docs.generate.notebooks import write_notebooks
from docs.generate.pictures import write_pictures
from docs.generate.presets import write_presets
from docs.generate.rating_pictures import write_rating_pictures
from docs.generate.scale import write_scale
from docs.generate.screenshots import write_screenshots

PARTS = {
    "presets": write_presets,
    "guides": write_guides,
    "scale": write_scale,
    "combinations": write_combinations,
    "examples": write_examples,
    "pictures": write_pictures,
    "screenshots": write_screenshots,
    "rating": write_rating_pictures,
    "notebooks": write_notebooks,
}


def main() -> None:
    """Write some parts, or all."""
    parser = argparse.ArgumentParser(
        prog="python -m docs.generate", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="+", choices=[*PARTS, "all"])
    wanted = parser.parse_args().parts
    for name, write in PARTS.items():
        if name in wanted or "all" in wanted:
            write()
            print(f"wrote {name}")


if __name__ == "__main__":
    main()
