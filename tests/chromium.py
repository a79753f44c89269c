"""A page in headless Chromium, driven over its debugging pipe: no driver and no package needed."""

import json
import os
import shutil
import subprocess
import tempfile


def program():
    """The browser's path, or None."""
    return next(filter(None, map(shutil.which, ["chromium", "chromium-browser", "google-chrome"])), None)


class Page:
    """A local file, opened in the light or dark scheme. `problems` are console errors and failures, `requests` every address asked for."""

    def __init__(self, path, scheme="light"):
        self.problems, self.requests, self.number, self.rest = [], [], 0, b""
        self.profile = tempfile.TemporaryDirectory()
        # The browser reads commands from its descriptor 3 and answers on 4.
        from_us, self.write = os.pipe()
        self.read, to_us = os.pipe()
        command = f'exec "$0" "$@" 3<&{from_us} 4>&{to_us}'
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", f"--user-data-dir={self.profile.name}"]
        self.process = subprocess.Popen(
            ["bash", "-c", command, program(), *options],
            pass_fds=[from_us, to_us],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(from_us)
        os.close(to_us)
        self.session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ["Page", "Runtime", "Log", "Network"]:
            self.call(f"{domain}.enable")
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.call("Emulation.setDeviceMetricsOverride", width=1100, height=900, deviceScaleFactor=1, mobile=False)
        self.call("Page.navigate", url=path.as_uri())
        while self.message().get("method") != "Page.loadEventFired":
            pass

    def value(self, expression):
        """The value of an expression in the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        return answer["result"].get("value")

    def call(self, method, **parameters):
        self.number += 1
        command = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            command["sessionId"] = self.session
        os.write(self.write, json.dumps(command).encode() + b"\0")
        while True:
            message = self.message()
            if message.get("id") == self.number:
                if "error" in message:
                    raise OSError(f"{method}: {message['error']['message']}")
                return message["result"]

    def message(self):
        while b"\0" not in self.rest:
            piece = os.read(self.read, 1 << 16)
            if not piece:
                raise OSError("the browser ended")
            self.rest += piece
        first, self.rest = self.rest.split(b"\0", 1)
        message = json.loads(first)
        self.note(message.get("method"), message.get("params", {}))
        return message

    def note(self, method, event):
        if method == "Network.requestWillBeSent" and not event["request"]["url"].startswith(("data:", "about:")):
            self.requests.append(event["request"]["url"])
        if method == "Runtime.exceptionThrown":
            self.problems.append(event["exceptionDetails"].get("text"))
        if method == "Log.entryAdded" and event["entry"]["level"] in ("error", "warning"):
            self.problems.append(event["entry"]["text"])
        if method == "Runtime.consoleAPICalled" and event["type"] in ("error", "warning", "assert"):
            self.problems.append(str(event["args"]))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.call("Browser.close")
        except OSError:
            pass
        self.process.wait(timeout=30)
        os.close(self.read)
        os.close(self.write)
        self.profile.cleanup()
