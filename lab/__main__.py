"""The commands of the lab: `python -m lab --help` lists them."""

from lab.commands import main

if __name__ == "__main__":
    main()
