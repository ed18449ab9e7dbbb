"""The same profile as a file and in logs of many writers, with other lines around it."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator

NOISE = ("Starting runner", "Loaded model in 3 ms, 2 inputs, 1 output", "see: a; b; c", "")

# What each log writes before a text: a function of the number of the line.
WRITERS: dict[str, Callable[[int], str]] = {
    "threadtime": lambda n: f"11-20 09:12:40.{n % 1000:03}  4711  4712 I tflite  : ",
    "threadtime with a year": lambda n: f"2026-11-20 09:12:40.{n % 1000:03} +0100  47  48 D app: ",
    "time": lambda n: f"11-20 09:12:40.{n % 1000:03} I/tflite( 4711): ",
    "brief": lambda n: "I/tflite  ( 4711): ",
    "tag": lambda n: "I/tflite  : ",
    "syslog": lambda n: f"Nov 20 09:12:{n % 60:02} board runner[812]: ",
    "journald": lambda n: f"2026-11-20T09:12:{n % 60:02}+0100 board runner[812]: ",
    "glog": lambda n: f"I1120 09:12:40.{n:06} 4711 main.cc:{n + 1}] ",
    "executorch": lambda n: f"I 00:00:{n % 60:02}.000599 executorch:main.cpp:{n + 1}] ",
    "xcode": lambda n: f"2026-11-20 09:12:40.{n:06}+0100 App[812:9913] ",
    "serial": lambda n: f"[09:12:40.{n % 1000:03}] ",
    "arduino": lambda n: f"09:12:40.{n % 1000:03} -> ",
    "dmesg": lambda n: f"[{n / 1000:12.6f}] ",
    "python": lambda n: f"2026-11-20 09:12:40,{n % 1000:03} - runner - INFO - ",
    "epoch": lambda n: f"1795000000.{n % 1000:03}  4711  4712 I tflite  : ",
    "studio": lambda n: f"2026-11-20 09:12:40.{n % 1000:03}  47-48  tflite   org.app.a   I  ",
    "old studio": lambda n: f"2026-11-20 09:12:40.{n % 1000:03} 47-48/org.app I/tflite: ",
    "long": lambda n: f"[ 11-20 09:12:40.{n % 1000:03}  4711: 4712 I/tflite   ]\n",
    "esp": lambda n: f"\x1b[0;32mI ({300 + n}) prof: ",
    "zephyr": lambda n: f"[00:00:{n % 60:02}.123,{n % 1000:03}] <inf> prof: ",
    "docker": lambda n: f"2026-11-20T09:12:40.{n:09}Z ",
    "kubernetes": lambda n: f"2026-11-20T09:12:40.{n:09}Z stdout F ",
    "compose": lambda n: "bench-1  | ",
    "workflow": lambda n: f"bench\tRun it\t2026-11-20T09:12:40.{n:07}Z ",
    "kernel": lambda n: f"<6>[{n / 1000:12.6f}] prof: ",
    "monotonic": lambda n: f"[{n / 1000:12.6f}] board runner[812]: ",
    "rtt": lambda n: "00> ",
    "colors": lambda n: f"\x1b[{31 + n % 6}m",
}  # fmt: skip
# Lines of other writers in between, where the log tells them apart.
_OTHERS = {
    "threadtime": "11-20 09:12:40.000  1000  1001 W ActivityManager: slow, 1,2,3",
    "brief": "W/ActivityManager( 1000): slow, 1,2,3",
    "syslog": "Nov 20 09:12:40 board kernel: usb 1-1, new, device",
}

_ENDS = {"long": "\n", "esp": "\x1b[0m\r", "colors": "\x1b[0m", "zephyr": "\r"}


def logged(text: str, writer: str) -> str:
    """A text in a log, with other lines before it."""
    prefix = WRITERS[writer]
    lines = [*NOISE, *text.splitlines()]
    found = []
    for number, line in enumerate(lines):
        found.append(f"{prefix(number)}{line}{_ENDS.get(writer, '')}")
        if writer in _OTHERS and number % 5 == 4:
            found.append(_OTHERS[writer])
    return "\n".join([*found, ""])


def _pieces(text: str, size: int) -> Iterator[str]:
    for begin in range(0, len(text), size):
        yield text[begin : begin + size]


def dumped(data: bytes, how: str) -> str:
    """Bytes as a board prints them."""
    if how == "base64 line":
        return f'# Writing\n#----\necho "{base64.b64encode(data).decode()}" | base64 -d > a.bin\n'
    if how == "base64":
        lines = list(_pieces(base64.b64encode(data).decode(), 76))
        return "\n".join(["begin dump", *lines, "end dump", ""])
    pairs = [" ".join(f"{byte:02x}" for byte in data[i : i + 16]) for i in range(0, len(data), 16)]
    if how == "hex":
        return "\n".join(["dump:", *pairs, "done", ""])
    if how == "hexdump":
        lines = [f"{i * 16:08x}  {row}  |{'.' * 16}|" for i, row in enumerate(pairs)]
    else:
        quads = [data[i : i + 16].hex() for i in range(0, len(data), 16)]
        lines = [
            f"{i * 16:08x}: {' '.join(_pieces(row, 4))}  ................"
            for i, row in enumerate(quads)
        ]
    return "\n".join(["dump:", *lines, "done", ""])
