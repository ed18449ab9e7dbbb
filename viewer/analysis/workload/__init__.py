"""The work of operators: FLOPs, bytes, tensors, copies."""
