#!/bin/bash
# isomorphic-git 1.44.11 (npm): with `*`, `!*/`, `!*.yaml` in .gitignore, `add` leaves every file in a folder out, without an error; git adds them.
#
# Guess before it was run: it decides as git does which files are ignored, also after a negated line for folders, as gitignore(5) recommends to keep some files below them, and for `[!a]`.
# Seen: of a.yaml, b.txt, d/c.yaml and deploy/e.yaml git adds the three .yaml files, isomorphic-git a.yaml alone: it asks about the folder `d` without the slash that `!*/` and `!/deploy/` need. `[!a]bc` is `[a]bc` to
# it: abc is ignored and bbc is not. A commit that a program makes with it lacks files, and nothing says so. The `ignore` of npm in a current version, 7.0.17, answers as git does for all of these.
# Needs Node.js 20 or newer, npm and git. Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
VERSION=1.44.11
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
echo '{"private": true}' > package.json
npm install --silent --no-audit --no-fund "isomorphic-git@$VERSION" > installed 2>&1 || { cat installed; exit 1; }
cat > add.mjs << 'MODULE'
import fs from 'node:fs';
import git from 'isomorphic-git';
const dir = 'repository';
await git.add({ fs, dir, filepath: '.' });
console.log((await git.listFiles({ fs, dir })).filter((path) => path !== '.gitignore').join(' '));
MODULE
added() { # PATTERN...: what git adds, and what isomorphic-git adds
  for by in git library; do
    rm -rf repository
    git init -q repository
    mkdir repository/d repository/deploy
    touch repository/{a.yaml,b.txt,abc,bbc,d/c.yaml,deploy/e.yaml}
    printf '%s\n' "$@" > repository/.gitignore
    if [ $by = git ]; then git -C repository add . && git -C repository ls-files | grep -vx .gitignore | paste -sd ' '; else node add.mjs; fi
  done; }
kinds=$(added '*' '!*/' '!*.yaml'); folder=$(added '/*' '!/deploy/'); class=$(added '[!a]bc')
printf 'git, isomorphic-git %s: * !*/ !*.yaml:\n%s\n/* !/deploy/:\n%s\n[!a]bc:\n%s\n' "$VERSION" "$kinds" "$folder" "$class"
[ "$kinds" = $'a.yaml d/c.yaml deploy/e.yaml\na.yaml' ] && [ "$folder" = deploy/e.yaml ] &&
  [ "$class" = $'a.yaml abc b.txt d/c.yaml deploy/e.yaml\na.yaml b.txt bbc d/c.yaml deploy/e.yaml' ]
