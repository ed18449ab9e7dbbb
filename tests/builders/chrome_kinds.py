"""Kinds of events of Chrome traces, usual and unusual ones."""

from hypothesis import strategies as st

NAMES = ("aten::add", 'a "quoted" one', "é", "", "},{", "C:\\new")
SHAPES = ([[1, 3], [], [64]], [], {"a": [None]}, True, None, 1.5, "text", 7)


def torch(i: int, name: str, shape: object) -> dict:
    return {"ph": "X", "cat": "cpu_op", "name": name, "pid": 12, "tid": i % 3,
            "ts": 10**9 + 3 * i + 0.125, "dur": i % 7 + 0.5,
            "args": {"External id": i, "Input Dims": shape, "Record function id": 0}}  # fmt: skip


def begun(i: int, name: str, shape: object) -> dict:
    return {"name": name, "ph": "BE"[i % 2], "ts": 3 * i, "tid": "main", "pid": 1}


def other(i: int, name: str, shape: object) -> dict:
    return {"ph": "iCbM"[i % 4], "name": name, "ts": 5 * i, "pid": 1, "tid": 1, "id": i % 5,
            "args": {"value": i}}  # fmt: skip


def unusual(i: int, name: str, shape: object) -> dict:
    return {"ph": "X", "name": name, "ts": f"{i}", "dur": 1e3 * i, "pid": 1.5, "tid": -i,
            "tts": [i], "args": shape}  # fmt: skip


def processor(i: int, name: str, shape: object) -> dict:
    return {"ph": "X", "name": name, "ts": 3 * i, "dur": 2, "tts": i + 0.5, "tdur": i % 3, "tid": 1,
            "pid": 1, **({"sf": i} if name == NAMES[0] else {})}  # fmt: skip


def bound(i: int, name: str, shape: object) -> dict:
    return {"ph": "X", "name": name, "ts": 3 * i, "dur": 2, "bind_id": hex(i // 2), "tid": 1,
            "pid": 1, "flow_in": i % 2 == 1, "flow_out": i % 3 == 0}  # fmt: skip


def numbered(i: int, name: str, shape: object) -> dict:
    return {"ph": "X", "name": name, "ts": i / 8, "dur": i, "tid": 10**7 + i, "pid": 1,
            "args": {"whole": 10 ** (i % 21), "part": (-1) ** i * i / 7, "some": i or 0.5,
                     "few": [1e-5, i % 3, None][i % 3], "data": {"whole": i}}}  # fmt: skip


def flow(i: int, name: str, shape: object) -> dict:
    return {"ph": "stf"[i % 3], "name": "f", "id": i // 3, "ts": 3 * i, "pid": 1, "tid": i % 2,
            **({"bp": "e"} if i % 3 == 2 else {}), "cat": name}  # fmt: skip


def named(i: int, name: str, shape: object) -> dict:
    kind = ("process_name", "thread_name", "thread_sort_index", "other")[i % 4]
    return {"ph": "M", "name": kind, "pid": i % 2, "tid": i % 3, "ts": i % 2,
            "args": {"name": name, "sort_index": -i}}  # fmt: skip


def instant(i: int, name: str, shape: object) -> dict:
    return {"ph": "i", "name": name, "ts": 7 * i, "pid": 1, "tid": 1, "args": {"at": i},
            **({"s": "tpg"[i % 3]} if i % 4 else {})}  # fmt: skip


EVENTS = st.lists(
    st.tuples(
        st.sampled_from(
            (torch, torch, begun, other, unusual, processor, bound, numbered, flow, named, instant)
        ),
        st.sampled_from(NAMES), st.sampled_from(SHAPES), st.integers(1, 6),
    ), min_size=1, max_size=12,
)  # fmt: skip
