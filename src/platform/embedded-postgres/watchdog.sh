# Watches one holder of an embedded PostgreSQL. Standard input is a pipe from the holder; when it ends, by a clean stop
# or by the holder's death, this removes the holder's file and shuts the server down unless another live process holds
# it.
# Usage: sh watchdog.sh <holder file> <folder of holder files>
# Each line of input names the server now in use: <pid> <start of that process> <socket folder>
# Ends with 0 when the server is gone and with 3 when it is left to others.

# Prints when a process began, as processes.ts does; fails when there is no such process or it is a zombie.
began() {
  if [ -e /proc/self/stat ]; then
    stat=$(cat "/proc/$1/stat") || return 1
    # The name in brackets may hold blanks and brackets, so count from the last bracket.
    set -- ${stat##*) }
    case $1 in Z* | X*) return 1 ;; esac
    echo "${20}"
  else
    set -- $(LC_ALL=C ps -o stat= -o lstart= -p "$1")
    case $1 in Z* | '') return 1 ;; esac
    echo "${2}_${3}_${4}_${5}_${6}"
  fi
}

is_alive() {
  [ -n "$1" ] && [ -n "$2" ] && [ "$(began "$1")" = "$2" ]
}

is_used() {
  for other in "$1"/*; do
    [ -f "$other" ] || continue
    name=${other##*/}
    IFS= read -r other_started <"$other" || continue
    is_alive "${name%%-*}" "$other_started" && return 0
  done
  return 1
}

# One function, so that the whole script is read before anything runs and may be replaced on disk meanwhile.
main() {
  # Only the end of the pipe counts: Ctrl-C and a closed terminal are the holder's business.
  trap '' HUP INT QUIT TERM PIPE

  pid='' started='' sockets=''
  while read -r next_pid next_started next_sockets; do
    pid=$next_pid started=$next_started sockets=$next_sockets
  done

  # First leave, then look: of two that leave at once, the later one sees nobody.
  rm -f "$1"
  is_used "$2" && exit 3

  if is_alive "$pid" "$started"; then
    kill -INT "$pid"
    while is_alive "$pid" "$started"; do sleep 0.05; done
  fi
  # Fails when it is not empty, that is, when another server has moved in.
  [ -n "$sockets" ] && rmdir "$sockets"
  exit 0
}

main "$@"
