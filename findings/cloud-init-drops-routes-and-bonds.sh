#!/bin/bash
# cloud-init 22.4.2 (Debian 12): for networkd, it writes no .netdev file for a bond or VLAN of a network configuration, and no metric and table of a route, without a warning.
#
# Guess before it was run: `net-convert` of a configuration of version 2 to networkd writes .netdev files for bonds and VLANs, and Metric= and Table= of routes, or ends with an error
# that names what it cannot write.
# Seen: exit code 0, no warning. There is no .netdev, no Bond= or VLAN=, no Metric= or Table=: bond0 and v7 are never made, eth1 takes an address of its own, and two default routes are
# equal. For NetworkManager the bond is there, and the metric of the route is not.
# Needs Python 3.11 or newer, PyPI, dpkg and an apt source of Debian 12. Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
VERSION=22.4.2-1+deb12u4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
chmod 777 .
apt-get -qq download "cloud-init=$VERSION"
dpkg-deb -x ./cloud-init_*.deb root
python3 -m venv own
own/bin/pip install --quiet --disable-pip-version-check jinja2==3.1.6 pyyaml==6.0.2 oauthlib==3.2.2 configobj==5.0.9 requests==2.32.3 jsonpatch==1.33 jsonschema==4.23.0
cat > network.yaml << 'YAML'
network:
  version: 2
  ethernets:
    eth0:
      addresses: [10.0.0.2/24]
      routes:
        - {to: 0.0.0.0/0, via: 10.0.0.1, metric: 200}
        - {to: 10.9.0.0/16, via: 10.0.0.9, table: 7}
    eth1: {dhcp4: true}
  bonds:
    bond0: {interfaces: [eth1], addresses: [10.1.0.2/24], parameters: {mode: active-backup}}
  vlans:
    v7: {id: 7, link: eth0, addresses: [10.7.0.2/24]}
YAML
convert() { # KIND: exit code
  code=0; PYTHONPATH=root/usr/lib/python3/dist-packages own/bin/python -W ignore -m cloudinit.cmd.main devel net-convert --network-data network.yaml --kind yaml --directory "$1" --distro debian --output-kind "$1" > said 2>&1 || code=$?; echo "$code"; }
networkd=$(convert networkd) manager=$(convert network-manager)
warned=$(grep -ci warn said || true)
files=$(cd networkd/etc/systemd/network && ls | paste -sd ' ')
lost=$(grep -rhE '^(Bond|VLAN|Metric|Table|Kind)=' networkd | wc -l)
bond=$(grep -rh '^mode=active-backup' network-manager | wc -l)
route=$(grep -rh '^route1=' network-manager)
echo "cloud-init $VERSION: exit codes $networkd and $manager, $warned warnings; networkd has $files, $lost lines of bond, VLAN, metric or table; NetworkManager: bond $bond, $route"
[ "$networkd $manager $warned $lost $bond" = '0 0 0 0 1' ] && [[ $files != *.netdev* ]] && [[ $files == *bond0.network* ]] && [ "$route" = 'route1=0.0.0.0/0,10.0.0.1' ]
