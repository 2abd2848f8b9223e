#!/bin/bash
# promtool 2.42.0 and amtool 0.25.0 (Debian 12): of a file with two YAML documents they check the first, and call the file valid; a rule test passes whose alert does not exist.
#
# Guess before it was run: rules or a configuration in a second document count as if they stood in a file of their own, or the file is refused; a test of an alert that no rule has fails, and so does one whose
# rule files are not there.
# Seen: "SUCCESS: 1 rules found" for a file whose second document has an expression that cannot be parsed; Prometheus itself lists that one rule alone, so alerts that were appended with `---` never fire. `check config` and
# `amtool check-config` accept nonsense there. A test with `alertname: Dwon` and `exp_alerts: []` passes, whatever the rule Down does; with rule files of which the pattern finds none, there is a warning and exit code 0.
# Needs dpkg and an apt source of Debian 12. Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
PROMETHEUS=2.42.0+ds-5+deb12u1 ALERTMANAGER=0.25.0-1+b4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
apt-get download "prometheus=$PROMETHEUS" "prometheus-alertmanager=$ALERTMANAGER" > fetched 2>&1 || { cat fetched; exit 1; }
for package in *.deb; do dpkg-deb -x "$package" programs; done
alert() { printf 'groups:\n- name: %s\n  rules:\n  - alert: %s\n    expr: %s\n' "$@"; }
alert a Down 'up == 0' > rules.yml
{ cat rules.yml; echo ---; alert b Late 'up =='; } > two.yml
printf 'global: {scrape_interval: 15s}\n---\nnonsense: 1\n' > config.yml
printf 'route: {receiver: a}\nreceivers: [{name: a}]\n---\nnonsense: 1\n' > manager.yml
rule_test() { # FILES ALERT
  printf 'rule_files: [%s]\ntests:\n- interval: 1m\n  input_series: [{series: up, values: 0x20}]\n  alert_rule_test:\n  - {eval_time: 10m, alertname: %s, exp_alerts: []}\n' "$@" > test.yml
  programs/usr/bin/promtool test rules test.yml > tested 2>&1 && echo 0 || echo "$?"; }
rules=$(programs/usr/bin/promtool check rules two.yml 2>&1 | paste -sd ' ')
programs/usr/bin/promtool check config config.yml > out 2>&1 && config=0 || config=$?
programs/usr/bin/amtool check-config manager.yml > out 2>&1 && manager=0 || manager=$?
right=$(rule_test rules.yml Down) wrong=$(rule_test rules.yml Dwon) none=$(rule_test 'none-*.yml' Down)
echo "promtool check rules: $rules; check config: $config; amtool check-config: $manager; test of Down: $right, of Dwon: $wrong, without rules: $none"
[ "$rules" = 'Checking two.yml   SUCCESS: 1 rules found ' ] && [ "$config $manager $right $wrong $none" = '0 0 1 0 0' ]
