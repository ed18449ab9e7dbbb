"""The bytes of a program file: what each part is for, which operators use it, and duplicates."""
