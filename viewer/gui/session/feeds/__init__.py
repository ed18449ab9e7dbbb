"""The feeds of a session: results that several panels show, each computed once."""
