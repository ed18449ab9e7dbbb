"""Two program files: what differs in their instructions, delegates, planned memory and sizes."""
