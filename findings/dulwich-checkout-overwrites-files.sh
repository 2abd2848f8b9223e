#!/bin/bash
# dulwich 1.2.21 (PyPI): a checkout replaces untracked files that the other branch has, without an error; its patch of a changed mode is refused by `git apply`.
#
# Guess before it was run: `porcelain.checkout` without `force` is refused where it would overwrite an untracked file, as by git ("untracked working tree files would be overwritten"); `git apply` takes
# what `porcelain.diff_tree` writes.
# Seen: note.txt has the other branch's text afterwards, and what was in it is in no commit and nowhere else. Of a file whose mode
# alone changed, the patch has an `index` line, and git refuses a patch with a new file after it: "bad git-diff - expected /dev/null, got tracked".
# Needs Python 3 with venv, PyPI and git. Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
VERSION=1.2.21
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv own
own/bin/pip install --quiet --disable-pip-version-check "dulwich==$VERSION"
git() { command git -c user.name=a -c user.email=a@example.invalid -C repository "$@"; }
mkdir repository; git init -q -b main
echo one > repository/tracked; git add .; git commit -q -m one
git checkout -q -b other; echo theirs > repository/note.txt; git add .; git commit -q -m two
chmod +x repository/tracked; echo new > repository/zone; git add .; git commit -q -m three
git checkout -q main
echo mine > repository/note.txt
git checkout -q other 2> refused && code=0 || code=$?
mine=$(cat repository/note.txt)
own/bin/python -c "
from dulwich import porcelain
porcelain.checkout('repository', 'other')"
theirs=$(cat repository/note.txt)
own/bin/python -c "
import sys
from dulwich import porcelain
from dulwich.repo import Repo
repo = Repo('repository')
last = repo[repo.head()]
porcelain.diff_tree(repo, repo[last.parents[0]].tree, last.tree, sys.stdout.buffer)" > patch
git checkout -q --detach HEAD~1
git apply --check ../patch 2> bad && applied=0 || applied=$?
printf 'git checkout: %s, note.txt: %s\ndulwich %s, checkout: note.txt: %s\ngit apply of its patch: %s, %s\n' "$code" "$mine" "$VERSION" "$theirs" "$applied" "$(cat bad)"
[ "$code $mine $theirs" = '1 mine theirs' ] && [ "$applied" = 128 ] && grep -q 'bad git-diff' bad
