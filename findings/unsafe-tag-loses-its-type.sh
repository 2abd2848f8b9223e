#!/bin/bash
# ansible-core 2.19.14, variables from a file: a quoted text with the tag !unsafe becomes what a plain one would be.
#
# Expected (nobody wrote a guess down before the first run): `!unsafe "no"` is the text "no", which is only not a template, as in ansible-core 2.18 and before: the quotes
# make a text of it (YAML 1.1, "Nonspecific tags" is about plain scalars alone), and the tag says nothing of its type.
# Seen: 2.18.19 has str, str and str for "no", "07" and ""; 2.19.14 has bool, int and NoneType. In Ansible's JSON, {"__ansible_unsafe": "no"} stays a
# text in both. So a value that must not be a template loses its type in silence: leading zeros of a serial number, an empty text.
# Needs Python 3.11 or newer and PyPI. Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export ANSIBLE_HOME=$work/home ANSIBLE_LOCALHOST_WARNING=false ANSIBLE_INVENTORY_UNPARSED_WARNING=false ANSIBLE_NOCOLOR=1
printf 'a: !unsafe "no"\nb: !unsafe "07"\nc: !unsafe ""\n' > "$work/tagged.yml"
printf '{"a": {"__ansible_unsafe": "no"}, "b": {"__ansible_unsafe": "07"}, "c": {"__ansible_unsafe": ""}}' > "$work/marked.json"
types() { # VERSION FILE
  python3 -m venv "$work/$1" && "$work/$1/bin/pip" install -q "ansible-core==$1" > "$work/pip" 2>&1 || { cat "$work/pip"; exit 1; }
  "$work/$1/bin/ansible" localhost -c local -e "@$work/$2" -m debug -a "msg='{{ [a, b, c] | map(\"type_debug\") | join(\" \") }}'" 2> /dev/null |
    sed -n 's/.*"msg": "\(.*\)".*/\1/p' | sed 's/AnsibleUnsafeText/str/g'
}
old=$(types 2.18.19 tagged.yml); new=$(types 2.19.14 tagged.yml)
old_json=$(types 2.18.19 marked.json); new_json=$(types 2.19.14 marked.json)
echo "2.18.19: tagged $old; JSON $old_json"
echo "2.19.14: tagged $new; JSON $new_json"
[ "$old" = 'str str str' ] && [ "$new" = 'bool int NoneType' ] && [ "$old_json" = 'str str str' ] && [ "$new_json" = 'str str str' ]
