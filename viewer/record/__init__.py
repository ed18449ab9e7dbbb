"""The logging side: what delegates, simulators and back ends in Python write for Opscope to read.

Needs neither torch nor executorch, and brings neither Qt nor pandas along.
"""

from viewer.record.debug_handle_map import DelegateMappingBuilder
from viewer.record.debug_handle_map_file import DelegateInstance, write_debug_handle_map

__all__ = ["DelegateInstance", "DelegateMappingBuilder", "write_debug_handle_map"]
