#!/bin/sh
# The README's two commands on a Debian that has Node and nothing else: as root, in a closed folder, and as another user.
# Run as root in a clone; what it has committed is tried. debootstrap fetches the Debian.
#   .ci/debian.sh [USER…]
set -eu
cd "$(dirname "$0")/.."
debian=$(mktemp -d)
# Nobody has to get in, too.
chmod 755 "$debian"
trap 'rm -rf "$debian"' EXIT

if ! command -v debootstrap >/dev/null; then
  apt-get update -qq
  apt-get install -qq --no-install-recommends debootstrap >/dev/null
fi
debootstrap --variant=minbase bookworm "$debian" >/dev/null
echo "127.0.0.1 localhost" >"$debian/etc/hosts"

# Node and npm are those of this machine.
cp "$(command -v node)" "$debian/usr/local/bin/node"
npm=$(dirname "$(dirname "$(readlink -f "$(command -v npm)")")")
mkdir "$debian/usr/local/lib/node_modules"
cp -R "$npm" "$debian/usr/local/lib/node_modules/npm"
for name in npm npx; do
  ln -s "../lib/node_modules/npm/bin/$name-cli.js" "$debian/usr/local/bin/$name"
done
# Where a proxy reads along, npm has to know its certificate.
cp "${NODE_EXTRA_CA_CERTS:-/dev/null}" "$debian/etc/certificates.pem"

for user in ${*:-root nobody}; do
  home=/root
  [ "$user" = root ] || home=/home/$user
  mkdir -p -m 700 "$debian$home"
  git clone --quiet --no-hardlinks . "$debian$home/clone"
  chown -R "$(id -u "$user"):$(id -g "$user")" "$debian$home"
  for task in "start --exit" test; do
    begin=$(date +%s)
    # shellcheck disable=SC2016
    unshare --mount --pid --fork --kill-child sh -euc '
      mount -t proc none "$1/proc"
      mount -t tmpfs none "$1/dev/shm"
      mount -t devpts -o newinstance,ptmxmode=0666 none "$1/dev/pts"
      exec env -i PATH=/usr/local/bin:/usr/bin:/bin HOME="$3" NODE_EXTRA_CA_CERTS=/etc/certificates.pem \
        /usr/sbin/chroot --userspec="$2" "$1" sh -c "cd && cd clone && exec npx --yes pnpm@10 $4"
    ' sh "$debian" "$user" "$home" "$task"
    echo "pnpm $task as $user: $(($(date +%s) - begin)) s"
  done
done
