"""The order of tracks that a Perfetto file states.

What is below a track follows it. Siblings that are plain tracks are in the order that their parent
asks for (`child_ordering`): by `sibling_order_rank`, by name (also if it asks for none, as in the
Perfetto UI), or by the time of their first event, where a track without events is first. Processes
and threads are by rank if the root says so (`process_ordering`, `thread_ordering`), else by the
sort index of older files, else, and among equals, in the order of the descriptors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

from viewer.formats.perfetto.tracks import Described, Tracks

_EXPLICIT = pb.TrackDescriptor.EXPLICIT
_CHRONOLOGICAL = pb.TrackDescriptor.CHRONOLOGICAL
_ROOT = "root", 0
# The parts of a tree: ("track", uuid), or ("process", number) for a process with all its tracks.
_Node = tuple[str, int]
_PROCESS, _THREAD, _PLAIN, _OTHER = range(4)


def tracks_in_order(
    tracks: Tracks, uuids: Sequence[int], first_times: Mapping[int, int], *, is_ranked: bool
) -> list[int]:
    """Tracks in the order of the file.

    uuids: in the order of their descriptors. first_times: of the first event of each track that has
    any. is_ranked: what does not state an order of its children ranks them.
    """
    tree = _Tree(tracks, first_times, is_ranked=is_ranked)
    for place, uuid in enumerate(uuids):
        tree.add(uuid, place)
    return tree.in_order()


class _Tree:
    """The tracks and those above them."""

    def __init__(self, tracks: Tracks, first_times: Mapping[int, int], *, is_ranked: bool) -> None:
        self._tracks, self._first_times, self._is_ranked = tracks, first_times, is_ranked
        self._children: dict[_Node, list[_Node]] = {_ROOT: []}
        self._place: dict[_Node, int] = {}  # of the first track in it
        self._tracks_of: dict[_Node, list[int]] = {}
        self._process_tracks: dict[_Node, Described] = {}
        for track in tracks.by_uuid.values():
            if track.process is not None and track.thread is None and not track.is_made:
                self._process_tracks.setdefault(("process", track.process.number), track)

    def add(self, uuid: int, place: int) -> None:
        """Add a track with its place among all."""
        path = self._path(uuid)
        self._tracks_of.setdefault(path[0], []).append(uuid)
        for node, parent in zip(path, [*path[1:], _ROOT], strict=True):
            if node in self._place:
                break
            self._place[node] = place
            self._children.setdefault(parent, []).append(node)

    def _path(self, uuid: int) -> list[_Node]:
        """A track and what is above it, innermost first."""
        path: list[_Node] = []
        for track in self._tracks.above(uuid):
            if track.thread is not None:
                return [*path, ("track", track.uuid), ("process", track.thread.process.number)]
            if track.process is not None:
                return [*path, ("process", track.process.number)]
            path.append(("track", track.uuid))
        return path or [("track", uuid)]

    def in_order(self) -> list[int]:
        """All tracks that were added."""
        order: list[int] = []
        todo = self._sorted(_ROOT)[::-1]
        while todo:
            node = todo.pop()
            order += self._tracks_of.get(node, ())
            todo += self._sorted(node)[::-1]
        return order

    def _sorted(self, parent: _Node) -> list[_Node]:
        """The children of a node. Each kind of them keeps the places that it has among all."""
        children = sorted(self._children.get(parent, ()), key=self._place.__getitem__)
        kinds = [self._kind(node) for node in children]
        for kind in set(kinds) - {_OTHER}:
            places = [i for i, of in enumerate(kinds) if of == kind]
            members = [children[i] for i in places]
            for i, node in zip(places, self._siblings(parent, kind, members), strict=True):
                children[i] = node
        return children

    def _siblings(self, parent: _Node, kind: int, members: list[_Node]) -> list[_Node]:
        """Sort children of one kind; equal ones stay in order."""
        if kind != _PLAIN:
            is_stated = (
                self._tracks.process_ordering if kind == _PROCESS else self._tracks.thread_ordering
            )
            of = {node: self._described(node) for node in members}
            return sorted(
                members,
                key=lambda node: (
                    (track.rank if is_stated else 0, track.sort_index)
                    if (track := of[node])
                    else (0, 0)
                ),
            )
        above = self._tracks.by_uuid.get(0) if parent == _ROOT else self._described(parent)
        ordering = above.ordering if above else 0
        if ordering == _EXPLICIT or (self._is_ranked and not ordering):
            return sorted(members, key=lambda node: self._plain(node).rank)
        if ordering == _CHRONOLOGICAL:
            return sorted(members, key=lambda node: self._first_times.get(node[1], -(2**63)))
        return sorted(members, key=lambda node: self._plain(node).name)

    def _kind(self, node: _Node) -> int:
        if node[0] == "process":
            return _PROCESS
        track = self._described(node)
        if track is None or track.is_made:
            return _OTHER
        return _PLAIN if track.thread is None else _THREAD

    def _described(self, node: _Node) -> Described | None:
        if node[0] == "process":
            return self._process_tracks.get(node)
        return self._tracks.by_uuid.get(node[1])

    def _plain(self, node: _Node) -> Described:
        return self._tracks.by_uuid[node[1]]
