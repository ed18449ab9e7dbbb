"""What ran: the instructions, delegates, tensors and sizes of an ExecuTorch program file."""
