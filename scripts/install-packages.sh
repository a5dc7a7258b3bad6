#!/bin/sh
# Installs what `npm run test:interop` (interop), `npm run test:image` (image) or `npm run test:cluster` (cluster) needs from Debian's
# packages. No service is started, now or when the machine starts again: the tests run their own.
set -eu

case ${1:-} in
  interop) wanted='knotd:knot nsd:nsd unbound:unbound kresd:knot-resolver pdns_recursor:pdns-recursor named:bind9 dnssec-signzone:bind9-utils delv:bind9-dnsutils prometheus:prometheus pgbouncer:pgbouncer pg_ctlcluster:postgresql ip:iproute2' ;;
  image) wanted='mmdebstrap:mmdebstrap buildah:buildah podman:podman runc:runc podman-compose:podman-compose qemu-aarch64-static:qemu-user-static arch-test:arch-test /usr/lib/podman/netavark:netavark /usr/lib/podman/aardvark-dns:aardvark-dns iptables:iptables catatonit:catatonit curl:curl ip:iproute2 systemd-analyze:systemd systemd-nspawn:systemd-container python3:python3' ;;
  cluster) wanted='patroni:patroni etcd:etcd-server etcdctl:etcd-client haproxy:haproxy pgbouncer:pgbouncer pg_ctlcluster:postgresql ip:iproute2' ;;
  *)
    echo 'Usage: install-packages.sh interop | image | cluster' >&2
    exit 1
    ;;
esac

# Debian keeps servers where an ordinary user's PATH does not look.
PATH="$PATH:/usr/sbin:/sbin"

missing=
for pair in $wanted; do
  command -v "${pair%%:*}" >/dev/null || missing="$missing ${pair##*:}"
done
[ -n "$missing" ] || exit 0

if ! command -v apt-get >/dev/null; then
  echo "Install these packages manually, this machine has no apt-get:$missing" >&2
  exit 1
fi

if [ "$(id -u)" -eq 0 ]; then
  as_root=
elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
  as_root=sudo
else
  echo "Installing packages needs root: run 'sudo sh scripts/install-packages.sh $1' once, then again as yourself." >&2
  exit 1
fi

# While this file says 101, Debian's packages start no service. One that is here already is somebody else's.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  trap '$as_root rm -f "$policy"' EXIT
  trap 'exit 1' HUP INT TERM
  printf '#!/bin/sh\nexit 101\n' | $as_root tee "$policy" >/dev/null
  $as_root chmod 755 "$policy"
fi

$as_root apt-get update -qq
# shellcheck disable=SC2086 # a list of packages, and a command that may be empty
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing

command -v systemctl >/dev/null || exit 0
for package in $missing; do
  case $package in
    bind9) $as_root systemctl disable --quiet named || true ;;
    etcd-server) $as_root systemctl disable --quiet etcd || true ;;
    knot | nsd | pdns-recursor | prometheus | unbound | patroni | haproxy | pgbouncer | postgresql) $as_root systemctl disable --quiet "$package" || true ;;
  esac
done
