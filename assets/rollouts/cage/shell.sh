#!/bin/bash -p
# The agent's SHELL: runs each command of the agent in a sandbox of its own, inside the one OpenClaw is in.
# @SANDBOX@ is filled in by `bubblewrap.py`. The command sees system files and the workspace; no state folder, no
# configuration, no model socket, no bridge, no other process. `-p`: no function and no BASH_ENV is taken from outside.
set -u
PATH=/usr/bin:/bin
where=$(pwd -P 2>/dev/null)
case "$where" in
  /workspace | /workspace/*) ;;
  *) where=/workspace ;;
esac

# What the model asked for with the tool's `env` argument is passed on; OpenClaw's own surroundings are not.
given=()
while IFS= read -r name; do
  case "$name" in
    OPENCLAW* | CLAWGYM* | NODE* | LD_* | BASH* | SHELL* | PATH | HOME | PWD | OLDPWD | SHLVL | TMPDIR | USER | LANG | TZ | _) ;;
    *) given+=("$name=${!name}") ;;
  esac
done < <(compgen -e)

exec @SANDBOX@ /usr/bin/env --chdir="$where" ${given[@]+"${given[@]}"} /bin/bash "$@"
