#!/bin/sh
# What the image postgres:18 does at its first start and at each.
set -eu
data=/var/lib/postgresql/18/docker
if [ "$(id -u)" -eq 0 ]; then
  mkdir -p "$data" /run/postgresql && chown postgres: /run/postgresql && chown -R postgres: /var/lib/postgresql && chmod 700 "$data"
  exec setpriv --reuid=postgres --regid=postgres --init-groups "$0" "$@"
fi
export PGDATA="$data"
if [ ! -s "$data/PG_VERSION" ]; then
  printf %s "$POSTGRES_PASSWORD" > /tmp/password
  initdb --username="$POSTGRES_USER" --pwfile=/tmp/password --auth=scram-sha-256 >/dev/null
  echo 'host all all all scram-sha-256' >> "$data/pg_hba.conf"
  echo "create database \"$POSTGRES_USER\"" | postgres --single -j postgres >/dev/null
  echo "listen_addresses = '*'" >> "$data/postgresql.conf"
fi
exec "$@"
