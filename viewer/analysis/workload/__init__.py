"""What operators have to do: FLOPs, bytes, tensors, copies."""
