"""Perfetto traces as Android writes them: atrace prints, switches of threads, stages of a GPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

APP, OTHER, RENDER = 1200, 1300, 1210


class AndroidTrace:
    """A trace of an app with two threads, and of another process."""

    def __init__(self) -> None:
        self.trace: Any = pb.Trace()
        tree = self.trace.packet.add(timestamp=1, trusted_packet_sequence_id=1).process_tree
        tree.processes.add(pid=APP, uid=10123, cmdline=["com.example.camera"])
        tree.processes.add(pid=OTHER, uid=10200, cmdline=["zygote64"])
        tree.threads.add(tid=RENDER, tgid=APP, name="RenderThread")
        packages = self.trace.packet.add(trusted_packet_sequence_id=1).packages_list
        packages.packages.add(name="com.example.other", uid=10200)

    def snapshot(self, boot: int, steady: int) -> None:
        """A moment on BOOTTIME and MONOTONIC."""
        snapshot = self.trace.packet.add(trusted_packet_sequence_id=9).clock_snapshot
        snapshot.clocks.add(clock_id=6, timestamp=boot)
        snapshot.clocks.add(clock_id=3, timestamp=steady)

    def bundle(self, cpu: int = 0) -> Any:
        """A bundle of one CPU."""
        packet = self.trace.packet.add(trusted_packet_sequence_id=2)
        packet.ftrace_events.cpu = cpu
        return packet.ftrace_events

    def prints(self, *marks: tuple[int, int, str], cpu: int = 0) -> None:
        """Prints: time, thread, text."""
        bundle = self.bundle(cpu)
        for time, tid, text in marks:
            event = bundle.event.add(timestamp=time, pid=tid)
            event.print.buf = text

    def switches(self, *steps: tuple[int, int, int, int], cpu: int = 0) -> None:
        """Switches: time, thread that stops, its state, thread that runs then."""
        bundle = self.bundle(cpu)
        for time, tid, state, other in steps:
            event = bundle.event.add(timestamp=time, pid=tid)
            event.sched_switch.prev_pid, event.sched_switch.next_pid = tid, other
            event.sched_switch.prev_state = state
            event.sched_switch.prev_comm, event.sched_switch.next_comm = f"t{tid}", f"t{other}"

    def compact(self, *steps: tuple[int, int, int], cpu: int = 1) -> None:
        """The same in packed lists: time, state of the thread that stops, thread that runs then."""
        packed = self.bundle(cpu).compact_sched
        names: dict[str, int] = {}
        before = 0
        for time, state, tid in steps:
            packed.switch_timestamp.append(time - before)
            packed.switch_prev_state.append(state)
            packed.switch_next_pid.append(tid)
            packed.switch_next_prio.append(120)
            packed.switch_next_comm_index.append(names.setdefault(f"t{tid}", len(names)))
            before = time
        packed.intern_table.extend(names)

    def wakes(self, *steps: tuple[int, int], cpu: int = 0) -> None:
        """Wakeups: time, thread."""
        bundle = self.bundle(cpu)
        for time, tid in steps:
            event = bundle.event.add(timestamp=time, pid=0)
            event.sched_waking.pid = tid
            event.sched_waking.comm = f"t{tid}"

    def clocks(self, *steps: tuple[int, int, int]) -> None:
        """Clocks of CPUs: time, CPU, kHz."""
        bundle = self.bundle()
        for time, cpu, khz in steps:
            event = bundle.event.add(timestamp=time, pid=0).cpu_frequency
            event.cpu_id, event.state = cpu, khz

    def gpu(self, *stages: tuple[int, int, int, int]) -> None:
        """Stages of a GPU: start, duration, queue, stage; names are interned."""
        first = self.trace.packet.add(trusted_packet_sequence_id=3, sequence_flags=1)
        for iid, name in ((1, "graphics"), (2, "compute"), (3, "Vertex"), (4, "Fragment")):
            first.interned_data.gpu_specifications.add(iid=iid, name=name)
        for number, (start, length, queue, stage) in enumerate(stages, 1):
            packet = self.trace.packet.add(
                timestamp=start, trusted_packet_sequence_id=3, sequence_flags=2
            )
            event = packet.gpu_render_stage_event
            event.event_id, event.duration = number, length
            event.hw_queue_iid, event.stage_iid = queue, stage
            event.submission_id = 7

    def save(self, folder: Path) -> Path:
        """Write the trace."""
        path = folder / "android.pftrace"
        path.write_bytes(self.trace.SerializeToString())
        return path
