"""One module a job; each has `run(workdir: Path, runs: int) -> Result`."""
