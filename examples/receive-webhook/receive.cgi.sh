#!/bin/sh
# A receiver in shell with openssl, as a CGI script (RFC 3875) under any web server, with WEBHOOK_SECRET in its environment.
# openssl takes the secret as an argument, so use this only where nobody else can list the machine's processes.
set -eu

TOLERANCE_SECONDS=300
BODY_LIMIT=1048576

answer() {
  printf 'Status: %s\r\n\r\n' "$1"
  exit 0
}

hmac() { # of standard input, by the key $1
  openssl dgst -sha256 -hmac "$1" | sed 's/^.*= *//'
}

timestamp=${HTTP_X_WEBHOOK_TIMESTAMP:-}
case $timestamp in '' | 0* | *[!0-9]* | ?????????????*) answer '401 Unauthorized' ;; esac
age=$(($(date +%s) - timestamp))
if [ "$age" -gt "$TOLERANCE_SECONDS" ] || [ "$age" -lt "-$TOLERANCE_SECONDS" ]; then answer '401 Unauthorized'; fi

length=${CONTENT_LENGTH:-0}
case $length in '' | *[!0-9]* | ????????*) answer '413 Content Too Large' ;; esac
if [ "$length" -gt "$BODY_LIMIT" ]; then answer '413 Content Too Large'; fi

body=$(mktemp) # a file, because a variable cannot hold the octets as they came
trap 'rm -f "$body"' EXIT
head -c "$length" >"$body"

# Both sides go through an HMAC by a random key, so that the time of comparing them says nothing about the signature.
key=$(openssl rand -hex 32)
expected=$(hmac "$WEBHOOK_SECRET" <"$body" | tr -d '\n' | hmac "$key")
given=$(printf %s "${HTTP_X_SERVICE_SIGNATURE:-}" | hmac "$key")
if [ "$given" != "$expected" ]; then answer '401 Unauthorized'; fi

# The same id can come again: do the work once per id, and soon, because the sender waits 30 seconds.
cat "$body" >>"${WEBHOOK_LOG:-/dev/null}"
answer '204 No Content'
