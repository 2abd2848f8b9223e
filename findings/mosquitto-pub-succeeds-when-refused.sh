#!/bin/bash
# mosquitto_pub 2.0.11 (Debian 12): a message that the broker refuses in its acknowledgement, with MQTT 5, ends with exit code 0.
#
# Guess before it was run: with `-V 5 -q 1` the broker acknowledges a message beyond its `message_size_limit` with a reason of failure, and mosquitto_pub, which
# waits for that answer, ends with a code that is not 0.
# Seen: it writes "Publish 1 failed: Packet too large." to standard error and ends with 0, also with QoS 2; nobody receives the message. So `mosquitto_pub && rm` deletes
# what was not delivered. With MQTT 3.1.1 there is not even the message: that version has no reason in its acknowledgement.
# Needs dpkg and an apt source of Debian 12. Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
VERSION=2.0.11-1.2+deb12u2
work=$(mktemp -d)
server=
trap 'kill $server 2> /dev/null || true; rm -rf "$work"' EXIT
cd "$work"
chmod 777 .
apt-get -qq download "mosquitto=$VERSION" "mosquitto-clients=$VERSION" "libmosquitto1=$VERSION" libdlt2 libwrap0 libcjson1 libwebsockets17 libev4 libuv1
for deb in *.deb; do dpkg-deb -x "$deb" root; done
LD_LIBRARY_PATH=$(find root -name '*.so.*' -printf '%h\n' | sort -u | paste -sd :)
export LD_LIBRARY_PATH
for port in 15895 25895 35895; do
  printf 'listener %s 127.0.0.1\nallow_anonymous true\nmessage_size_limit 10\n' "$port" > conf
  root/usr/sbin/mosquitto -c conf > log 2>&1 & server=$!
  for _ in $(seq 50); do
    kill -0 $server 2> /dev/null || continue 2
    grep -q running log && break 2
    sleep 0.1
  done
  kill $server 2> /dev/null || true
done
pub() { code=0; said=$(root/usr/bin/mosquitto_pub -h 127.0.0.1 -p "$port" -r -t "$1" -m "$2" "${@:3}" 2>&1) || code=$?; echo "$code $said"; }
five=$(pub long5 0123456789abcdef -V 5 -q 1)
three=$(pub long3 0123456789abcdef -V 311 -q 1)
short=$(pub short ok -V 5 -q 1)
kept=$(root/usr/bin/mosquitto_sub -h 127.0.0.1 -p "$port" -t '#' -W 2 -v 2> /dev/null | paste -sd ' ' || true)
echo "mosquitto $VERSION: MQTT 5: $five; MQTT 3.1.1: $three; a short one: $short; the broker has: $kept"
[ "$five" = '0 Warning: Publish 1 failed: Packet too large.' ] && [ "$three $short" = '0  0 ' ] && [ "$kept" = 'short ok' ]
