#!/bin/bash
# Podman's quadlet 5.4.2 (Debian 13): a `$` in a value of Environment= or Label= gets into ExecStart as it is, where systemd puts a variable in its place.
#
# Guess before it was run: `Environment=PASSWORD=pa$word` reaches the container as it does a service: podman-systemd.unit(5) says the form is that of systemd, where the character $
# has no special meaning in Environment= (systemd.exec(5)). So the generator writes `$$`, as systemd.service(5) asks for in command lines.
# Seen: `--env PASSWORD=pa$word`, exit code 0, no warning. systemd replaces `$word` in a command line, with nothing where there is no such variable: the container starts with
# another password. Label=, Annotation=, Volume= and HealthCmd= are the same. `$$` in the quadlet is left as it is, too, which systemd makes one `$`.
# Needs dpkg, and an apt source of Debian, of which it makes one for Debian 13. Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
VERSION=5.4.2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
chmod 777 .
mkdir -p lists/partial archives/partial units
site=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' 'Origin: Debian' | grep -v security | head -n 1)
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $site trixie main" > sources
apt() { apt-get -qq -o Dir::Etc::sourcelist="$work/sources" -o Dir::Etc::sourceparts=/dev/null -o Dir::State::lists="$work/lists" -o Dir::Cache="$work" "$@"; }
apt update
apt download podman
dpkg-deb -x podman_*.deb root
version=$(dpkg-deb -f podman_*.deb Version)
printf '[Container]\nImage=localhost/vision\nEnvironment=PASSWORD=pa$word TWICE=pa$$word\nLabel=price=$5\n' > units/vision.container
code=0; QUADLET_UNIT_DIRS=$work/units root/usr/libexec/podman/quadlet -dryrun > made 2> said || code=$?
line=$(grep '^ExecStart=' made)
warned=$(grep -ci 'dollar\|warn' said || true)
echo "podman $version: exit code $code, $warned warnings: ${line##*sdnotify=conmon }"
[[ $version == "$VERSION"* ]] && [ "$code $warned" = '0 0' ] && [[ $line == *'--env PASSWORD=pa$word --env TWICE=pa$$word --label price=$5 '* ]]
