"""Find a Chromium or Chrome, or install one; as a script, print where it is."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
MAC = ("Google Chrome", "Chromium")
HELP = "No Chromium or Chrome: install one, or set CHROMIUM to the path of its executable."


def find() -> str | None:
    """The executable that CHROMIUM names, the system's, or Playwright's own; else None."""
    if named := os.environ.get("CHROMIUM"):
        return shutil.which(named)
    on_mac = [f"/Applications/{name}.app/Contents/MacOS/{name}" for name in MAC]
    for name in (*NAMES, *on_mac):
        if path := shutil.which(name):
            return path
    with sync_playwright() as playwright:
        own = playwright.chromium.executable_path
    return own if Path(own).exists() else None


def install() -> None:
    """Debian's package where we may install it, otherwise Playwright's own build."""
    commands = [[sys.executable, "-m", "playwright", "install", "chromium"]]
    if shutil.which("apt-get") and os.geteuid() == 0:
        apt = ["apt-get", "install", "-qy", "--no-install-recommends", "chromium"]
        commands = [["apt-get", "update", "-q"], apt, *commands]
    for command in commands:
        subprocess.run(command, stdout=sys.stderr, check=False)
        if find():
            return


if __name__ == "__main__":
    if not find():
        install()
    sys.exit(print(find()) if find() else HELP)
