"""How colors look to eyes that lack one kind of cone, and how far apart two of them are.

The matrices are those of Machado, Oliveira and Fernandes, "A Physiologically-based Model for
Simulation of Color Vision Deficiency" (2009), for a severity of 1.0, on linear RGB. The distance is
CIEDE2000, as Sharma, Wu and Dalal (2005) write it down. Written from these papers, and sharing
nothing with the program.
"""

from math import atan2, cos, degrees, exp, hypot, radians, sin, sqrt

import numpy as np

EYES = {
    "normal": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
         [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
         [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602],
         [0.004733, 0.691367, 0.303900]]
    ),
}  # fmt: skip
_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750],
     [0.0193339, 0.1191920, 0.9503041]]
)  # fmt: skip


def lab(rgb: int, eye: str = "normal") -> tuple[float, float, float]:
    """CIELAB (D65) of 0xRRGGBB as an eye sees it."""
    channels = np.array([rgb >> 16 & 255, rgb >> 8 & 255, rgb & 255]) / 255
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    seen = np.clip(EYES[eye] @ linear, 0, 1)
    x, y, z = (_XYZ @ seen) / np.array([0.95047, 1.0, 1.08883])
    fx, fy, fz = (
        v ** (1 / 3) if v > 216 / 24389 else (24389 / 27 * v + 16) / 116 for v in (x, y, z)
    )
    return 116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)


def difference(one: tuple[float, float, float], other: tuple[float, float, float]) -> float:
    """CIEDE2000 of two CIELAB colors; about 2 can just be told apart, side by side."""
    (l1, a1, b1), (l2, a2, b2) = one, other
    c7 = ((hypot(a1, b1) + hypot(a2, b2)) / 2) ** 7
    g = 0.5 * (1 - sqrt(c7 / (c7 + 25**7)))
    a1, a2 = a1 * (1 + g), a2 * (1 + g)
    c1, c2 = hypot(a1, b1), hypot(a2, b2)
    h1, h2 = degrees(atan2(b1, a1)) % 360, degrees(atan2(b2, a2)) % 360
    gray = c1 * c2 == 0
    turn = 0.0 if gray else (h2 - h1 + 180) % 360 - 180
    dh = 2 * sqrt(c1 * c2) * sin(radians(turn) / 2)
    mean_l, mean_c = (l1 + l2) / 2, (c1 + c2) / 2
    if gray:
        h = h1 + h2
    elif abs(h1 - h2) <= 180:
        h = (h1 + h2) / 2
    else:
        h = (h1 + h2 + (360 if h1 + h2 < 360 else -360)) / 2
    t = (
        1 - 0.17 * cos(radians(h - 30)) + 0.24 * cos(radians(2 * h))
        + 0.32 * cos(radians(3 * h + 6)) - 0.20 * cos(radians(4 * h - 63))
    )  # fmt: skip
    sl = 1 + 0.015 * (mean_l - 50) ** 2 / sqrt(20 + (mean_l - 50) ** 2)
    sc, sh = 1 + 0.045 * mean_c, 1 + 0.015 * mean_c * t
    rt = (
        -2
        * sqrt(mean_c**7 / (mean_c**7 + 25**7))
        * sin(radians(60 * exp(-(((h - 275) / 25) ** 2))))
    )
    dl, dc = (l2 - l1) / sl, (c2 - c1) / sc
    return sqrt(dl**2 + dc**2 + (dh / sh) ** 2 + rt * dc * dh / sh)
