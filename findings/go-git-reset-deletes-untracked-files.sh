#!/bin/bash
# go-git 5.19.3: a hard reset deletes all files that Git does not track, those in .gitignore too; a checkout that it refuses has already moved HEAD.
#
# Guess before it was run: `Reset` with HardReset leaves what is not tracked alone, as `git reset --hard` does, whether it is ignored or not; a refused `Checkout` changes nothing, as `git checkout`.
# Seen: after `HardReset` to HEAD, note.txt and the ignored .env and data/db are gone, with no error; so they are after `Checkout` with Force. `git reset --hard` keeps all three. With an edited
# file, `Checkout` of another branch says "worktree contains unstaged changes", and HEAD is that branch all the same: the next commit is made on it. `Clean` deletes what is untracked only and keeps
# what is ignored.
# Needs Go, the Go module proxy and git. Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
VERSION=v5.19.3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cat > main.go << 'GO'
package main

import (
	"fmt"
	"os"

	git "github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
)

func main() {
	repository, err := git.PlainOpen("repository")
	if err != nil {
		panic(err)
	}
	tree, _ := repository.Worktree()
	switch os.Args[1] {
	case "reset":
		err = tree.Reset(&git.ResetOptions{Mode: git.HardReset})
	case "checkout":
		err = tree.Checkout(&git.CheckoutOptions{Branch: plumbing.NewBranchReferenceName("other")})
	}
	fmt.Println(err)
}
GO
printf 'module example.invalid/finding\n\ngo 1.25.0\n' > go.mod
{ go get "github.com/go-git/go-git/v5@$VERSION" && go build -o ask .; } 2> build || { cat build; exit 1; }
repository() {
  rm -rf repository
  git init -q -b main repository
  printf '.env\ndata/\n' > repository/.gitignore
  echo one > repository/tracked
  git -C repository add .
  git -C repository -c user.name=a -c user.email=a@example.invalid commit -q -m one
  git -C repository branch other
  mkdir repository/data
  touch repository/note.txt repository/.env repository/data/db; }
left() { (cd repository && find . -path ./.git -prune -o -type f -print | sort | paste -sd ' '); }
repository; git -C repository reset -q --hard; real=$(left)
repository; reset=$(./ask reset) library=$(left)
repository; echo two > repository/tracked
refused=$(./ask checkout) head=$(git -C repository symbolic-ref HEAD)
printf 'after git reset --hard: %s\nafter HardReset of go-git %s (%s): %s\nrefused checkout: %s, HEAD is %s\n' "$real" "$VERSION" "$reset" "$library" "$refused" "$head"
[ "$real" = './.env ./.gitignore ./data/db ./note.txt ./tracked' ] && [ "$reset $library" = '<nil> ./.gitignore ./tracked' ] &&
  [ "$refused $head" = 'worktree contains unstaged changes refs/heads/other' ]
