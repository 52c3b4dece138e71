#!/bin/sh
# The README's two commands on a Debian that has Node 20 and nothing else: as root, with the clone in a closed folder, and as another user.
# Run as root in a clone, with an empty folder as TMPDIR; it fetches the Debian with debootstrap.
set -eu
debian=$TMPDIR/debian
trap 'rm -rf "$debian"' EXIT

if ! command -v debootstrap >/dev/null; then
  apt-get update -qq
  apt-get install -qq --no-install-recommends debootstrap >/dev/null
fi
chmod 755 "$TMPDIR"
debootstrap --variant=minbase bookworm "$debian" >/dev/null
echo "127.0.0.1 localhost" >"$debian/etc/hosts"

# Node and its npm, of this machine.
modules=$debian/usr/local/lib/node_modules
mkdir "$modules"
cp "$NODE" "$debian/usr/local/bin/node"
cp -R "$(dirname "$(dirname "$(readlink -f "$(command -v npm)")")")" "$modules/npm"
for name in npm npx; do
  ln -s "../lib/node_modules/npm/bin/$name-cli.js" "$debian/usr/local/bin/$name"
done
# Without these, a network that reads along lets npm reach nothing.
certificates=/etc/extra-certificates.pem
cp "${NODE_EXTRA_CA_CERTS:-/dev/null}" "$debian$certificates"

for user in root nobody; do
  home=$debian/root
  [ "$user" = root ] || home=$debian/home/$user
  mkdir -p -m 700 "$home"
  git clone --quiet --no-hardlinks . "$home/clone"
  chown -R "$(id -u "$user"):$(id -g "$user")" "$home"
  for command in "start --exit" test; do
    begin=$(date +%s)
    unshare --mount --pid --fork --kill-child sh -euc '
      debian=$1 user=$2 home=$3 certificates=$4 command=$5
      mount -t proc none "$debian/proc"
      mount -t tmpfs none "$debian/dev/shm"
      exec env -i PATH=/usr/local/bin:/usr/bin:/bin HOME="$home" NODE_EXTRA_CA_CERTS="$certificates" \
        chroot --userspec="$user" "$debian" sh -c "cd && cd clone && exec npx --yes pnpm@10 $command"
    ' sh "$debian" "$user" "${home#"$debian"}" "$certificates" "$command"
    echo "pnpm $command as $user: $(($(date +%s) - begin)) s"
  done
done
