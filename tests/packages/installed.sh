#!/usr/bin/env bash
# installed.sh ROOT PACKAGES: installs the packages in a bare root, as a user does, and runs what
# they bring: the program, the completion, a build of examples/embedded.  Takes them away again.
#
# ./dev package calls it while it makes the root.
set -euo pipefail
root=$1 packages=$2
failed() { printf 'packages: %s\n' "$*" >&2; exit 1; }
inside() { chroot "$root" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive "$@"; }
apt() { inside apt-get -qq -y --no-install-recommends -o Dpkg::Use-Pty=0 "$@" >/dev/null; }
ours() { (cd "$root" && printf '/%s\n' packages/$1_*.deb); }

mkdir "$root/packages"
cp "$packages"/*.deb "$root/packages/"
version=$(dpkg-deb -f "$(echo "$packages"/ebb_*.deb)" Version)

# The program alone.
apt install "$(ours ebb)"
[[ $(inside ebb --version) == "ebb ${version%-*}" ]] || failed "the version is $(inside ebb --version)"
inside ebb gen uniform --nodes 60 -o /cluster.json
inside ebb plan /cluster.json
nodes=$(inside ebb plan /cluster.json -o name | sed 's,^node/,,')
[[ $(wc -l <<<"$nodes") -gt 10 ]] || failed "the plan has $(wc -l <<<"$nodes") nodes"
inside getent passwd ebb >/dev/null || failed "no user for the daemon"
[[ $(inside bash -c '. /usr/share/bash-completion/completions/ebb
  COMP_WORDS=(ebb plan --expl) COMP_CWORD=2; _ebb; echo "${COMPREPLY[@]}"') == "--explain" ]] ||
  failed "bash does not complete --explain"
for file in man/man1/ebb.1.gz man/man1/ebb-plan.1.gz zsh/vendor-completions/_ebb \
  fish/vendor_completions.d/ebb.fish doc/ebb/copyright doc/ebb/plan.md; do
  [[ -s $root/usr/share/$file ]] || failed "no $file"
done
# The daemon answers, as the user that was made for it.
inside setpriv --reuid ebb --regid ebb --clear-groups sh -c '
  cd /tmp && mkdir -m 700 ebb && ebb serve --socket ebb/ebb.sock --log none & daemon=$!
  for try in 1 2 3 4 5 6 7 8 9 10; do [ -S /tmp/ebb/ebb.sock ] && break; sleep 1; done
  ebb serve status --server unix:/tmp/ebb/ebb.sock; status=$?
  kill $daemon; wait $daemon && exit $status' | grep "0 sessions"

# A program of somebody else's.
apt install "$(ours libebb1)" "$(ours libebb-dev)" g++ cmake make pkg-config
examples=/usr/share/doc/libebb-dev/examples
inside sh -c "gcc -std=c11 -Wall -Werror $examples/plan.c \$(pkg-config --cflags --libs ebb) -o /plan_by_pkg_config"
inside sh -c "cmake -S $examples -B /build && cmake --build /build" >/dev/null
for program in /plan_by_pkg_config /build/plan_c /build/plan; do
  [[ $(inside sh -c "$program </cluster.json") == "$nodes" ]] || failed "$program plans otherwise"
done
inside /build/changes | cmp - "$root$examples/changes.txt" || failed "changes: other output"
inside dpkg --verify ebb libebb1 libebb-dev

apt purge ebb libebb1 libebb-dev
left=$(find "$root" -xdev \( -name 'libebb*' -o -name 'ebb*' \) -not -path "$root/packages/*" -not -path "$root/build/*" \
  -not -path "$root/tmp/*" -not -path "$root/proc/*" -not -path "$root/sys/*")
[[ -z $left ]] || failed "left behind: $left"
echo "packages: installed, used and purged in a bare root"
