"""The metrics of `--compare_results`: each output of a run next to its reference output.

They are those of `compare_results` of the official Inspector (SNR in dB, MSE, cosine similarity, in
float32, rounded to two decimals), printed as it prints them without a plot. Its command line draws
them as images. Reference outputs come from an .npz with the keys output_0, output_1 and so on, or
from the expected outputs of a bundled program; those of an ETRecord are a pickle, which is never
loaded.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from viewer.analysis.links.link_table import LinkTable
from viewer.analysis.numbers.logged_calls import METHOD, LoggedInference
from viewer.analysis.numbers.logged_values import Value
from viewer.arrays import Floats
from viewer.codecs.reading import UnreadableFile
from viewer.formats.executorch.logged_profile import (
    LoggedProfile,
    array_values,
    case_of,
    expected_values,
    logged_profile,
)
from viewer.formats.executorch.pte.bundled_outputs import is_bundled, read_bundled_cases
from viewer.formats.npz import NpzFile

NO_REFERENCE = (
    "--compare_results needs --reference_outputs FILE, an .npz or a bundled program (.bpte): the "
    "reference outputs in an ETRecord are a pickle, which is never loaded"
)
Metrics = Mapping[str, Sequence[float]]


def compared_results(table: LinkTable, buffer: str | None, reference: str) -> list[Metrics]:
    """Return the metrics of the outputs of each method's first inference.

    buffer, reference: paths of the debug buffer and of the reference outputs. Raises
    UnreadableFile.
    """
    profile = logged_profile(table, () if buffer is None else (buffer,))
    return [
        _metrics(reference, _outputs(profile, inference), _references(reference, inference))
        for inference in profile.chosen(None)
    ]


def metric_lines(metrics: Metrics) -> list[str]:
    """Return the lines that the official library prints."""
    lines = []
    for name, values in metrics.items():
        lines += [name, "-" * 20]
        lines += [f"{i:<5}{value:>8.5f}" for i, value in enumerate(values)]
        lines += ["", ""]
    return lines


def metrics_as_json(metrics: Metrics) -> dict[str, list[float | None]]:
    """Return the metrics with null in place of what is not finite."""
    return {
        name: [value if math.isfinite(value) else None for value in values]
        for name, values in metrics.items()
    }


def _outputs(profile: LoggedProfile, inference: LoggedInference) -> list[Value]:
    logged = profile.side(inference).logged
    return next((values for call, values in logged if call.instruction == METHOD), [])


def _references(path: str, inference: LoggedInference) -> list[Value]:
    if is_bundled(path):
        bundle = read_bundled_cases(path)
        return expected_values(bundle, case_of(bundle, inference, None))
    arrays = array_values(NpzFile(path))
    values: list[Value] = []
    while (key := f"output_{len(values)}") in arrays:
        values.append(arrays[key])
    if not values:
        raise UnreadableFile(path, "it has no array output_0")
    return values


def _metrics(path: str, outputs: Sequence[Value], references: Sequence[Value]) -> Metrics:
    metrics: dict[str, list[float]] = {"snr": [], "mse": [], "cosine_similarity": []}
    for i, (output, reference) in enumerate(zip(outputs, references, strict=False)):
        if output.layout.sizes != reference.layout.sizes:
            raise UnreadableFile(
                path,
                f"output {i} is {output.layout.text}, its reference {reference.layout.text}",
            )
        try:
            for name, value in _of_pair(output, reference).items():
                metrics[name].append(value)
        except ValueError as error:
            raise UnreadableFile(path, f"output {i} cannot be compared ({error})") from error
    return metrics


def _of_pair(output: Value, reference: Value) -> dict[str, float]:
    """The metrics of one output: values in float32, sums in float64."""
    noise = signal = power_a = product = 0.0
    tensor, other = output.open(), reference.open()
    with np.errstate(over="ignore", invalid="ignore"):
        for x, y in zip(tensor.blocks(), other.blocks(), strict=True):
            a, b = x.astype(np.float32), y.astype(np.float32)
            noise += _squares(b - a)
            signal += _squares(b)
            power_a += _squares(a)
            product += float(np.multiply(a, b, dtype=np.float64).sum())
    with np.errstate(divide="ignore", invalid="ignore"):
        count, power = np.float64(tensor.count), np.float64(signal)
        return {
            "snr": round(float(10 * np.log10(power / noise)), 2),
            "mse": round(float(noise / count), 2),
            "cosine_similarity": round(float(product / np.sqrt(power * power_a)), 2),
        }


def _squares(values: Floats | np.ndarray[tuple[int, ...], np.dtype[np.float32]]) -> float:
    return float(np.square(values, dtype=np.float64).sum())
