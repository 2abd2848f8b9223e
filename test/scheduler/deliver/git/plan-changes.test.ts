import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { planChanges } from '../../../../scheduler/deliver/git/plan-changes.ts';
import type { BranchFiles } from '../../../../scheduler/deliver/git/read-branch.ts';
import { README, type Tree } from '../../../../scheduler/render/render-tree.ts';

/** A branch with these files, ids as git gives them. */
const branch = (files: Record<string, string>, algorithm = 'sha1', mode = '100644'): BranchFiles =>
  new Map(
    Object.entries(files).map(([path, text]) => {
      const head = `blob ${Buffer.byteLength(text)}\0`;
      return [path, { mode, id: createHash(algorithm).update(head).update(text).digest('hex') }];
    }),
  );

const tree = (files: Record<string, string>): Tree =>
  new Map(Object.entries(files).map(([path, text]) => [path, Buffer.from(text)]));

const never = (): boolean => false;

const FILES = { 'edge/README.md': README, 'edge/shop/x.yaml': 'x' };

test.for(['sha1', 'sha256'])(
  'a branch that has the tree needs no change, with object ids of %s',
  (algorithm) => {
    expect(planChanges(branch(FILES, algorithm), tree(FILES), never)).toMatchObject({
      written: [],
      removed: [],
      unchanged: 2,
    });
  },
);

test('a symbolic link or an executable of the tree is written as a regular file', () => {
  const { written } = planChanges(branch(FILES, 'sha1', '120000'), tree(FILES), never);
  expect(written.map(({ path }) => path)).toEqual(['edge/README.md', 'edge/shop/x.yaml']);
});

test('a change has the same name on any branch state outside of the tree, and another change has another name', () => {
  const old = { ...FILES, 'edge/shop/x.yaml': 'old' };
  const name = (files: Record<string, string>, wanted: Record<string, string> = FILES): string =>
    planChanges(branch(files), tree(wanted), never).name;
  expect(name(old)).toMatch(/^[0-9a-f]{12}$/);
  expect(name({ ...old, 'notes.md': 'by hand' })).toBe(name(old));
  expect(name({ ...old, 'edge/gone/x.yaml': '' })).not.toBe(name(old));
  expect(name(old, { ...FILES, 'edge/shop/x.yaml': 'y' })).not.toBe(name(old));
});

test('the folder of a removed cluster type stays recorded as ours while it has held packages', () => {
  const before = { ...FILES, 'gone/README.md': README, 'gone/a/x.yaml': 'a', 'gone/b/x.yaml': 'b' };
  const { removed } = planChanges(branch(before), tree(FILES), (folder) => folder === 'gone/a');
  expect(removed).toEqual(['gone/b/x.yaml']);
  const again = planChanges(branch({ ...before }), tree(FILES), never);
  expect(again.removed).toEqual(['gone/README.md', 'gone/a/x.yaml', 'gone/b/x.yaml']);
});

test('a foreign file at the path of a folder is refused', () => {
  expect(() => planChanges(branch({ 'edge/shop': 'by hand' }), tree(FILES), never)).toThrow(
    /edge\/shop is a file on the branch/,
  );
});
