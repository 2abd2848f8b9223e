import { join } from 'node:path';
import { expect, test } from 'vitest';
import Build from '../../../scheduler/commands/build.ts';
import Diff from '../../../scheduler/commands/diff.ts';
import Publish from '../../../scheduler/commands/publish.ts';
import RootInit from '../../../scheduler/commands/root/init.ts';
import { commitFolder, makeGitRepository } from '../../harness/neighbours/git-repository.ts';
import { runCommandClass } from '../../scheduler/commands/run-command-class.ts';
import { temporaryDirectory, writeFiles } from '../../scheduler/file-tree.ts';
import { fleetPlatform } from '../../scheduler/fleet-platform.ts';

const settings = (workers: number): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {workers: "${workers}"}\n`;
const CHANGED = expect.stringMatching(/^-\s+workers: "2"\n\+\s+workers: "7"$/m) as string;

/** A fleet whose application is in a Git repository: what was delivered of it, and how it is compared with that. */
const deliver = async () => {
  const root = await temporaryDirectory();
  const at = (name: string): string => join(root, name);
  const url = `file://${at('shop.git')}`;
  const { 'platform/base/press.yaml': _, ...files } = fleetPlatform();
  await writeFiles(root, {
    ...files,
    'platform/base/shop.yaml': (files['platform/base/shop.yaml'] ?? '').replace('../apps/shop', url),
    'apps/shop/host/package.yaml': settings(2),
    'empty/README.md': 'GitOps',
  });
  await makeGitRepository(at('shop.git'), { main: at('apps/shop') });
  await makeGitRepository(at('gitops.git'), { prod: at('empty') });
  const inputs = ['--platform', at('platform'), '--cache', at('cache'), '-e', 'prod'];
  await runCommandClass(RootInit, ['--dev', '--fleet', 'halden', '--keys', at('keys')]);
  const layout = ['--layout', at('out')];
  const built = await runCommandClass(Build, [...inputs, ...layout, '--keys', at('keys'), '--json']);
  const { candidates } = built.json() as { candidates: { prod: string } };
  const tree = `git+file://${at('gitops.git')}#prod`;
  await runCommandClass(Publish, [...inputs, '--to', tree]);
  return {
    at,
    url,
    tree,
    candidate: candidates.prod,
    write: (more: Record<string, string>) => writeFiles(root, more),
    commit: () => commitFolder(at('shop.git'), 'main', at('apps/shop')),
    against: (state: string, ...words: readonly string[]) =>
      runCommandClass(Diff, [...inputs, ...layout, '--exit-code', '--against', state, ...words]),
  };
};

test('diff compares a release or a candidate with the current applications', async () => {
  const { at, candidate, tree, write, commit, against } = await deliver();
  for (const state of ['release', candidate, tree])
    expect(await against(state)).toMatchObject({ code: 0, out: expect.stringContaining('0 configured') });
  await write({ 'apps/shop/host/package.yaml': settings(7) });
  await commit();
  for (const state of ['release', candidate])
    expect(await against(state)).toMatchObject({ code: 8, out: CHANGED });
  // A candidate's commit is read, whatever directory stands for the repository now.
  const mapped = await against(candidate, '--map', `file://${at('shop.git')}=${at('apps/shop')}`);
  expect(mapped).toMatchObject({ code: 8, out: CHANGED });
  const from = await against('release', '--from', 'main');
  expect([from.code, from.err]).toEqual([2, expect.stringContaining('--from')]);
});

test('diff compares a rendered tree with the tree as it would be published', async () => {
  const { tree, write, against } = await deliver();
  await write({
    'platform/environments/prod/config.yaml': fleetPlatform()[
      'platform/environments/prod/config.yaml'
    ]?.replace('9', '12') as string,
  });
  const { code, out } = await against(tree);
  expect(code).toBe(8);
  expect(out).toContain('edge: 0 created, 1 configured, 0 deleted');
  expect(out).toMatch(/^\+.*12/m);
  const none = await against('gitops');
  expect([none.code, none.out]).toEqual([3, expect.stringContaining('REFERENCE_MISSING')]);
  const mistyped = await against('releases');
  expect([mistyped.code, mistyped.err]).toEqual([
    2,
    expect.stringContaining('Did you mean release? Write release,'),
  ]);
});

test("diff compares the directory or branch of an application's pull request with its repository", async () => {
  const { at, url, write, against } = await deliver();
  await write({ 'apps/shop/host/package.yaml': settings(7) });
  const map = ['--map', `${url}=${at('apps/shop')}`];
  expect(await against('repositories', ...map)).toMatchObject({ code: 8, out: CHANGED });
  expect(await against('release', ...map)).toMatchObject({ code: 8, out: CHANGED });
  const branch = ['--map', `${url}=${url}#pr-7`];
  const absent = await against('repositories', ...branch);
  expect([absent.code, absent.out]).toEqual([
    8,
    expect.stringMatching(
      /^ {2}not read: .*shop\.yaml:7:13: SOURCE_MISSING: .* has no branch pr-7\. It has main\.$/m,
    ),
  ]);
  await commitFolder(at('shop.git'), 'pr-7', at('apps/shop'));
  expect(await against('repositories', ...branch)).toMatchObject({ code: 8, out: CHANGED });
  expect(await against('release', ...branch)).toMatchObject({ code: 8, out: CHANGED });
  const unmapped = await against('repositories');
  expect([unmapped.code, unmapped.err]).toEqual([2, expect.stringContaining('--map')]);
});
