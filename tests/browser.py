"""A headless Chromium, driven over its debugging pipe: JSON messages, each ended by a zero byte.

Needs nothing but the browser itself; `find()` says where it is, if anywhere.
"""

import base64
import itertools
import json
import os
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
PATIENCE = 60.0
"""Seconds until an answer is given up: a hang ends as an error, not as a hang of the tests."""


def find() -> str | None:
    """The browser's path, `COEMARL_CHROMIUM` first; None if there is none."""
    return os.environ.get("COEMARL_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)


LAUNCH = """
import fcntl, os, sys
read, write = (fcntl.fcntl(int(word), fcntl.F_DUPFD, 10) for word in sys.argv[1:3])
os.dup2(read, 3)
os.dup2(write, 4)
os.execv(sys.argv[3], sys.argv[3:])
"""
"""Gives the browser the ends of the pipes as the numbers that it expects them under."""


class BrowserError(RuntimeError):
    """What the browser or a page's program complained of."""


class Browser:
    """One page in one browser; `with Browser(path, folder) as browser`."""

    def __init__(self, path: str, folder: Path):
        self.path, self.folder = path, folder
        self.numbers = itertools.count(1)
        self.events: list[dict] = []
        self.waiting = b""

    def __enter__(self) -> "Browser":
        read_end, self.to = os.pipe()
        self.answers, write_end = os.pipe()
        command = [
            *(sys.executable, "-ISc", LAUNCH, str(read_end), str(write_end), self.path),
            *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
            *("--no-first-run", "--hide-scrollbars", "--remote-debugging-pipe"),
            *(f"--user-data-dir={self.folder / 'profile'}", "about:blank"),
        ]
        self.process = subprocess.Popen(
            command,
            pass_fds=(read_end, write_end),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(read_end)
        os.close(write_end)
        try:
            self.attach()
        except BaseException:
            self.__exit__()
            raise
        return self

    def attach(self) -> None:
        """Speak to the page that the browser begins with."""
        self.session = None
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(each for each in targets if each["type"] == "page")
        attached = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)
        self.session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def __exit__(self, *_: object) -> None:
        os.close(self.to)  # the browser ends with its pipe
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.answers)

    def call(self, method: str, **parameters: object) -> dict:
        """Send one command and wait for its answer; events that come between are kept."""
        number = next(self.numbers)
        message = {"id": number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == number:
                if "error" in answer:
                    raise BrowserError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer)

    def receive(self) -> dict:
        """The next message."""
        until = time.monotonic() + PATIENCE
        while b"\0" not in self.waiting:
            ready, _, _ = select.select([self.answers], [], [], max(0.0, until - time.monotonic()))
            piece = os.read(self.answers, 1 << 20) if ready else b""
            if not piece:
                raise BrowserError("the browser does not answer")
            self.waiting += piece
        message, _, self.waiting = self.waiting.partition(b"\0")
        return json.loads(message)

    def event(self, method: str) -> dict:
        """Wait for the next event of this kind."""
        while True:
            found = next((each for each in self.events if each.get("method") == method), None)
            if found:
                self.events.remove(found)
                return found["params"]
            self.events.append(self.receive())

    def open(self, path: Path) -> None:
        """Load a file and wait until it is drawn."""
        self.events.clear()
        self.call("Page.navigate", url=path.resolve().as_uri())
        self.event("Page.loadEventFired")

    def ask(self, expression: str) -> object:
        """The value of an expression in the page; BrowserError if it throws."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise BrowserError(str(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def requests(self) -> list[str]:
        """Addresses that the page has asked for since it was opened."""
        sent = [each for each in self.events if each.get("method") == "Network.requestWillBeSent"]
        return [each["params"]["request"]["url"] for each in sent]

    def complaints(self) -> list[str]:
        """Errors and warnings of the page since it was opened."""
        kinds = ("Runtime.exceptionThrown", "Log.entryAdded")
        return [str(each["params"]) for each in self.events if each.get("method") in kinds]

    def size(self, width: int, height: int, mobile: bool = False, scale: float = 1) -> None:
        """Be a screen of this size."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=scale,
            mobile=mobile,
        )

    def dark(self, dark: bool) -> None:
        """Prefer dark colours, or not."""
        value = "dark" if dark else "light"
        features = [{"name": "prefers-color-scheme", "value": value}]
        self.call("Emulation.setEmulatedMedia", features=features)

    def point(self, x: float, y: float) -> None:
        """Move the mouse."""
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def click(self, x: float, y: float) -> None:
        """Press and release the mouse."""
        self.point(x, y)
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def key(self, name: str) -> None:
        """Press a key by its name, such as ArrowLeft."""
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=name, code=name)

    def place(self, selector: str) -> tuple[float, float]:
        """The middle of the first such element, scrolled into sight."""
        self.ask(
            f"document.querySelector({json.dumps(selector)}).scrollIntoView({{block: 'center'}})"
        )
        box = self.ask(
            f"(() => {{ const b = document.querySelector({json.dumps(selector)})"
            ".getBoundingClientRect();"
            " return [b.left + b.width / 2, b.top + b.height / 2]; })()"
        )
        return tuple(box)  # type: ignore[arg-type,return-value]

    def picture(self, path: Path) -> None:
        """What the screen shows, as PNG."""
        answer = self.call("Page.captureScreenshot", format="png")
        path.write_bytes(base64.b64decode(answer["data"]))
