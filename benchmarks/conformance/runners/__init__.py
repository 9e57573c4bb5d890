"""One script a peer, run by the peer's own Python: cases in on stdin, what the peer made of them out on stdout.

In: `{case: {file: base64}}`. Out: `{case: {"trajectories": [[part]], "stated": [[line, word]], "error": text}}`, parts
as `peers.view` reads them. A script imports the standard library and its peer, nothing of this project.
"""
