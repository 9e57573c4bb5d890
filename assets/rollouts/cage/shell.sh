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

# bubblewrap states the exit code of a command it started. Where it states none the sandbox could not be made, which is
# not the agent's doing: noted where no command can reach. (A command that is killed takes this shell with it.)
said=$(mktemp /scratch/said.XXXXXXXX)
(
  # OpenClaw's process for commands leaves its control socket open in them: a command could speak in its name.
  for path in /proc/self/fd/*; do
    fd=${path##*/}
    if ((fd > 2 && fd != 9 && fd != 255)); then eval "exec $fd>&-"; fi
  done
  exec @SANDBOX@ /usr/bin/env --chdir="$where" ${given[@]+"${given[@]}"} /bin/bash "$@"
) 9>"$said"
code=$?
grep -q exit-code "$said" || echo "$code" >>/scratch/failed
rm -f "$said"
exit "$code"
