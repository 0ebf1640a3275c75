"""The browser that drives the service's page: `python -m tests.browser` finds one or gets one.

In this order: Chromium or Chrome of the system, the one that playwright has installed; and if none
starts, Debian's package (as root), playwright's download. `make test` runs this first.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import Browser, Error, Playwright, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
MACOS = Path("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome")
ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
# what is tried in turn, each a list of commands; a browser's text needs at least one font
APT = [
    ["apt-get", "update", "-qq"],
    ["apt-get", "install", "-y", "-qq", "--no-install-recommends", "chromium", "fonts-liberation"],
]
PLAYWRIGHT = [[sys.executable, "-m", "playwright", "install", "chromium"]]
ADVICE = (
    "no browser for the tests of the service's page: install Chromium or Chrome, or run"
    " `sudo .venv/bin/playwright install --with-deps chromium` (`make check` needs none)"
)


def launch(playwright: Playwright) -> Browser:
    """Start a browser without a window: the system's first, then playwright's own."""
    paths = [path for path in map(shutil.which, NAMES) if path]
    if MACOS.exists():
        paths.append(str(MACOS))
    failure = None
    for path in [*paths, None]:  # None: playwright's own
        try:
            return playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        except Error as error:
            failure = failure or error
    raise failure


def starts() -> bool:
    """Whether there is a browser that starts."""
    with sync_playwright() as playwright:
        try:
            launch(playwright).close()
        except Error:
            return False
    return True


def ways() -> list[list[list[str]]]:
    """The ways to get a browser on this machine."""
    apt = os.geteuid() == 0 and shutil.which("apt-get")
    return [APT, PLAYWRIGHT] if apt else [PLAYWRIGHT]


def main() -> None:
    """Return once a browser starts; end with what to do if none can be had."""
    if starts():
        return
    for commands in ways():
        for command in commands:
            print("no browser yet:", " ".join(command), file=sys.stderr, flush=True)
            environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
            subprocess.run(command, check=False, env=environment, stdout=sys.stderr)
        if starts():
            return
    sys.exit(ADVICE)


if __name__ == "__main__":
    main()
