import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmod,
  lstat,
  mkdir,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, test } from 'vitest';
import { isFleetError } from '../../../bundles/errors.ts';
import { readConfiguration } from '../../../scheduler/settings/configuration.ts';
import { openRepository } from '../../../scheduler/load/sources/git-repository.ts';
import { parseMap } from '../../../scheduler/model/location.ts';
import { COMMITTER } from '../../../scheduler/deliver/git/commit-identity.ts';
import { openScratch } from '../../../scheduler/deliver/git/open-scratch.ts';
import { planChanges } from '../../../scheduler/deliver/git/plan-changes.ts';
import { pushBranch } from '../../../scheduler/deliver/git/push-branch.ts';
import { fetchCommitInto } from '../../../scheduler/deliver/git/read-branch.ts';
import { writeCommit } from '../../../scheduler/deliver/git/write-commit.ts';
import { deliverTrees } from '../../../scheduler/deliver/tree/deliver-trees.ts';
import type { Delivered, TreeDelivery } from '../../../scheduler/deliver/tree/tree-delivery.ts';
import { parseTreeTarget } from '../../../scheduler/deliver/tree/tree-target.ts';
import { README } from '../../../scheduler/render/render-tree.ts';
import { createDeliverStep } from '../../../scheduler/hub/watch/deliver-step.ts';
import { type ForgeServer, startForge } from '../../harness/neighbours/forge-server.ts';
import { commitFolder, makeGitRepository } from '../../harness/neighbours/git-repository.ts';
import { startGitServer } from '../../harness/neighbours/git-server.ts';
import { LONG } from '../../harness/run/long.ts';
import { programFile } from '../../harness/run/program-file.ts';
import { runCommand, runOrFail } from '../../harness/run/run-command.ts';
import { readTree, temporaryDirectory, writeFiles } from '../../scheduler/file-tree.ts';
import {
  CONTROL_PLANE,
  kalypsoDev,
  kalypsoMain,
  SHOP,
  shopRepository,
} from '../../scheduler/kalypso-platform.ts';

const TOKEN = 'a-token-that-nobody-may-see';
const PROGRAM = programFile('scheduler');

/**
 * A platform in directories, a bare repository for the tree at an http URL, and ways to look at it. Git reads the URL as a file unless
 * `isServed`: then a server answers, which takes four processes for each request.
 */
const workshop = async (isServed = false) => {
  const root = await temporaryDirectory();
  const at = (...names: readonly string[]): string => join(root, ...names);
  await mkdir(at('git/org'), { recursive: true });
  await writeFiles(at('main'), kalypsoMain());
  await writeFiles(at('dev'), kalypsoDev());
  await writeFiles(at('shop'), shopRepository());
  const bare = at('git/org/gitops.git');
  await writeFiles(at('start'), {
    'README.md': 'by hand\n',
    '.github/workflows/check-promote.yaml': 'on: push\n',
  });
  await makeGitRepository(bare, { dev: at('start') });
  const server = isServed ? await startGitServer(at('git')) : undefined;
  const base = server?.url ?? 'http://git.example';
  const url = `${base}/org/gitops.git`;
  // Azure DevOps has its repositories below this folder.
  await mkdir(at('git/org/_git'));
  await symlink(bare, at('git/org/_git/gitops'));
  const azureUrl = `${base}/org/_git/gitops`;
  const env = {
    PATH: process.env['PATH'],
    HOME: root,
    GIT_CONFIG_NOSYSTEM: '1',
    NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
    ...(!server && {
      GIT_CONFIG_COUNT: '1',
      GIT_CONFIG_KEY_0: `url.file://${at('git')}/.insteadOf`,
      GIT_CONFIG_VALUE_0: `${base}/`,
    }),
  };
  const maps = [
    `${CONTROL_PLANE}#dev=${at('dev')}`,
    `${CONTROL_PLANE}=${at('main')}`,
    `${SHOP}#main=${at('shop')}`,
  ];

  const publish = async (more: Partial<TreeDelivery> = {}): Promise<Delivered> => {
    const [delivered] = await deliverTrees({
      platform: at('main'),
      maps: maps.map(parseMap),
      cacheDirectory: at('cache'),
      to: parseTreeTarget(`git+${url}`),
      environments: ['dev'],
      pullRequest: false,
      forge: undefined,
      connection: { plainHttp: [], env: {} },
      env,
      now: new Date('2026-11-21T08:00:00Z'),
      signal: new AbortController().signal,
      ...more,
    });
    if (!delivered) throw new Error('nothing was delivered');
    return delivered;
  };

  const git = async (...words: readonly string[]): Promise<string> =>
    (await runOrFail(['git', '--git-dir', bare, ...words], { env })).stdout.trim();
  const head = (branch = 'dev'): Promise<string> => git('rev-parse', `refs/heads/${branch}`);
  const branches = async (): Promise<readonly string[]> =>
    (await git('for-each-ref', '--format=%(refname:lstrip=2)', 'refs/heads')).split('\n');

  /** The files of a branch, checked out by git itself. */
  const files = async (branch = 'dev'): Promise<Record<string, string>> => {
    const out = at('out');
    await rm(out, { recursive: true, force: true });
    await mkdir(out);
    const work = ['git', '--git-dir', bare, '--work-tree', out, 'checkout', '-f', branch, '--', '.'];
    await runOrFail(work, { env: { ...env, GIT_INDEX_FILE: at('out.index') } });
    return await readTree(out);
  };

  /** Somebody else's commit on top of a branch. */
  const strangers = async (name: string, text: string, branch = 'dev'): Promise<string> => {
    await rm(at('theirs'), { recursive: true, force: true });
    const all = await files(branch);
    await writeFiles(at('theirs'), { ...all, [name]: text });
    return await commitFolder(bare, branch, at('theirs'), { message: 'By hand' });
  };

  const setValue = (value: string): Promise<void> =>
    writeFiles(at('dev'), {
      'configs/eu.yaml': (kalypsoDev()['configs/eu.yaml'] ?? '').replace('https://eu.example.com', value),
    });

  return {
    at,
    bare,
    url,
    azureUrl,
    env,
    maps,
    publish,
    git,
    head,
    branches,
    files,
    strangers,
    setValue,
    [Symbol.asyncDispose]: async () => server?.[Symbol.asyncDispose](),
  };
};

describe('a rendered tree on a branch', () => {
  test('is pushed as one commit beside foreign files, and not at all when it is there already', async () => {
    await using shop = await workshop(true);
    const before = await shop.head();
    const first = await shop.publish();
    expect(first).toMatchObject({ outcome: 'pushed', to: `${shop.url} dev`, removed: [], problems: [] });
    expect(await shop.git('rev-list', '--count', `${before}..dev`)).toBe('1');
    expect(await shop.files()).toEqual({
      '.github/workflows/check-promote.yaml': 'on: push\n',
      'README.md': 'by hand\n',
      'edge/README.md': README,
      'edge/shop-web/namespace.yaml': 'name: dev-edge-shop-web\n',
      'edge/shop-web/platform-config.yaml': 'url: https://eu.example.com\n',
      'edge/shop-web/reconciler.yaml': 'target: shop-web\npath: ./web\n',
    });
    const words = await shop.git('log', '-1', '--format=%an <%ae>%n%aI%n%B', 'dev');
    expect(words.replace(/[0-9a-f]{12}$/, '<change>')).toBe(`Fleet Ferry <fleet-ferry@localhost>
2026-11-21T08:00:00+00:00
Update the manifests of dev

4 files written, 0 removed.

Fleet-Ferry-Environment: dev
Fleet-Ferry-Base: dev
Fleet-Ferry-Change: <change>`);
    const after = await shop.head();
    expect(await shop.publish()).toMatchObject({ outcome: 'unchanged', written: [], unchanged: 4 });
    expect(await shop.head()).toBe(after);
  });

  test('is the same commit with any cache', async () => {
    await using shop = await workshop();
    const before = await shop.head();
    await shop.publish();
    const first = await shop.head();
    await shop.git('update-ref', 'refs/heads/dev', before);
    await shop.publish({ cacheDirectory: shop.at('other-cache') });
    expect(await shop.head()).toBe(first);
  });

  test('creates a missing branch', async () => {
    await using shop = await workshop();
    await shop.publish({ to: parseTreeTarget(`git+${shop.url}#fresh`) });
    expect(Object.keys(await shop.files('fresh'))).toEqual([
      'edge/README.md',
      'edge/shop-web/namespace.yaml',
      'edge/shop-web/platform-config.yaml',
      'edge/shop-web/reconciler.yaml',
    ]);
    expect(await shop.git('rev-list', '--count', 'fresh')).toBe('1');
  });

  test('removes obsolete files, and no foreign ones', async () => {
    await using shop = await workshop();
    const theirs = {
      'README.md': 'top',
      'docs/README.md': 'by hand',
      'docs/a/b.yaml': 'by hand',
      '.github/workflows/x.yaml': 'on: push',
      'edge/kustomization.yaml': 'resources: [shop-web]',
    };
    await writeFiles(shop.at('theirs'), {
      ...theirs,
      'gone/README.md': README,
      'gone/shop-web/reconciler.yaml': 'stale',
      'edge/README.md': README,
      'edge/gone target ü"\\/reconciler.yaml': 'stale',
      'edge/shop-web/config.yaml': 'stale',
    });
    await commitFolder(shop.bare, 'dev', shop.at('theirs'));
    const delivered = await shop.publish();
    expect(delivered.removed).toEqual([
      'edge/gone target ü"\\/reconciler.yaml',
      'edge/shop-web/config.yaml',
      'gone/README.md',
      'gone/shop-web/reconciler.yaml',
    ]);
    expect(delivered.removedPackages).toEqual(['edge/gone target ü"\\', 'gone/shop-web']);
    expect(await shop.files()).toMatchObject(theirs);
    expect(Object.keys(await shop.files()).filter((path) => path.startsWith('edge/'))).toHaveLength(5);
  });

  test('keeps the former folder of a held assignment', async () => {
    await using shop = await workshop();
    await shop.publish();
    const templates = (kalypsoMain()['templates/all.yaml'] ?? '').replace('{{ .Namespace }}', '{{ .Nope }}');
    await writeFiles(shop.at('main'), { 'templates/all.yaml': templates });
    const held = await shop.publish();
    expect(held).toMatchObject({ outcome: 'unchanged', removed: [] });
    expect(held.held.map(({ error }) => error.code)).toEqual(['TEMPLATE_FAILED']);
    expect(await shop.files()).toHaveProperty('edge/shop-web/namespace.yaml');
    // So does an application whose repository cannot be read.
    await writeFiles(shop.at('main'), { 'templates/all.yaml': kalypsoMain()['templates/all.yaml'] ?? '' });
    await rm(shop.at('shop'), { recursive: true });
    const unread = await shop.publish();
    expect(unread).toMatchObject({ outcome: 'unchanged', removed: [] });
    expect(unread.heldWorkloads).toHaveLength(1);
  });

  test('is planned again when the branch moved meanwhile, several times', async () => {
    await using shop = await workshop();
    // Each of the first two pushes finds that the branch has just moved.
    const hook = join(shop.bare, 'hooks/pre-receive');
    await mkdir(join(shop.bare, 'hooks'), { recursive: true });
    const script = `#!/bin/sh
unset GIT_QUARANTINE_PATH GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES
count=$(cat "${shop.at('count')}" 2>/dev/null || echo 0)
[ "$count" -ge 2 ] && exit 0
echo $((count + 1)) > "${shop.at('count')}"
tree=$( (git ls-tree dev; printf '100644 blob %s\\tnote-%s\\n' "$(echo $count | git hash-object -w --stdin)" $count) | git mktree)
git update-ref refs/heads/dev "$(git -c user.name=Other -c user.email=o@example.com commit-tree $tree -p dev -m x)"
`;
    await writeFile(hook, script.replaceAll('\\\\', '\\'));
    await chmod(hook, 0o755);
    expect(await shop.publish()).toMatchObject({ outcome: 'pushed' });
    expect(Object.keys(await shop.files())).toEqual(
      expect.arrayContaining(['edge/README.md', 'note-0', 'note-1', 'README.md']),
    );
    expect(await shop.git('log', '--format=%an', 'dev')).toBe('Fleet Ferry\nOther\nOther\nFleet Ferry');
  });

  test('push refuses a branch that moved meanwhile', async () => {
    await using shop = await workshop();
    const git = { env: shop.env, signal: undefined };
    const repository = await openRepository(git, shop.url, shop.at('cache'));
    const expected = await shop.head();
    const theirs = await shop.strangers('notes.md', 'by hand');
    await fetchCommitInto(git, repository, expected);
    const push = { branch: 'dev', commit: expected, expected };
    const changes = planChanges(new Map(), new Map([['edge/README.md', Buffer.from(README)]]), () => false);
    const identity = { committer: COMMITTER, sign: false };
    const words = { base: expected, changes, message: 'x', identity, now: new Date(0) };
    await using scratch = await openScratch(git, repository, expected);
    const commit = await writeCommit(git, scratch, words);
    expect(await pushBranch(git, scratch, { ...push, commit })).toBe('moved');
    expect(await pushBranch(git, repository, { branch: 'dev', commit: undefined, expected })).toBe('moved');
    expect(await shop.head()).toBe(theirs);
  });

  test('fetchCommitInto fetches a commit once', async () => {
    await using shop = await workshop();
    const git = { env: shop.env, signal: undefined };
    const repository = await openRepository(git, shop.url, shop.at('cache'));
    const commit = await shop.head();
    await fetchCommitInto(git, repository, commit);
    await rename(shop.at('git'), shop.at('away'));
    await fetchCommitInto(git, repository, commit);
    const unknown = fetchCommitInto(git, repository, '0'.repeat(40));
    await expect(unknown).rejects.toMatchObject({ code: 'SOURCE_UNREACHABLE' });
  });

  test('parallel publishers with one cache all succeed, with one commit', async () => {
    await using shop = await workshop();
    const before = await shop.head();
    const all = await Promise.all([shop.publish(), shop.publish(), shop.publish()]);
    // The commit is the same one: who comes second finds it there.
    expect(all.flatMap(({ problems }) => problems)).toEqual([]);
    expect(all.map(({ outcome }) => outcome)).toContain('pushed');
    expect(await shop.git('rev-list', '--count', `${before}..dev`)).toBe('1');
  });

  test('publish reports the message of a protected branch, and writes nothing', async () => {
    await using shop = await workshop();
    const hook = join(shop.bare, 'hooks/pre-receive');
    await mkdir(join(shop.bare, 'hooks'), { recursive: true });
    await writeFile(hook, '#!/bin/sh\necho "GH006: protected branch" >&2\nexit 1\n');
    await chmod(hook, 0o755);
    const before = await shop.head();
    const { outcome, problems } = await shop.publish();
    expect(outcome).toBe('failed');
    expect(problems.map(({ code, message }) => [code, message])).toEqual([
      ['GIT_REFUSED', `${shop.url} refuses dev: [remote rejected] (pre-receive hook declined)`],
    ]);
    expect(await shop.head()).toBe(before);
  });

  test('publish --dry-run lists the changes and writes nothing', async () => {
    await using shop = await workshop();
    const before = await shop.head();
    const planned = await shop.publish({ dryRun: true });
    expect(planned).toMatchObject({ outcome: 'planned' });
    expect(planned.written).toHaveLength(4);
    expect(await shop.head()).toBe(before);
    expect(await shop.publish({ dryRun: true, pullRequest: true })).toMatchObject({ outcome: 'planned' });
    expect(await shop.branches()).toEqual(['dev']);
  });

  test('publish, killed at any moment, leaves the branch before or after the push', async () => {
    await using shop = await workshop(true);
    const args = ['--platform', shop.at('main'), '--environment', 'dev', '--cache', shop.at('cache')];
    const maps = shop.maps.flatMap((map) => ['--map', map]);
    const publish = (): ReturnType<typeof spawn> =>
      spawn(process.execPath, [PROGRAM, 'publish', '--to', `git+${shop.url}`, ...args, ...maps], {
        env: shop.env,
        stdio: ['ignore', 'pipe', 'pipe'],
      });
    const whole = publish();
    const started = performance.now();
    const [code] = (await once(whole, 'exit')) as [number];
    const duration = performance.now() - started;
    expect(code).toBe(0);
    /** What the branch may hold, oldest first: git that a killed command started may end its push later. */
    let possible = [await shop.files()];
    for (const [run, moment] of (LONG ? [4, 5, 6, 7, 8] : [5, 7]).entries()) {
      await shop.setValue(`https://${run}.example.com`);
      const child = publish();
      await sleep((duration * moment) / 10);
      child.kill('SIGKILL');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
      const now = await shop.files();
      possible.push({ ...now, 'edge/shop-web/platform-config.yaml': `url: https://${run}.example.com\n` });
      expect(possible).toContainEqual(now);
      possible = possible.slice(possible.findIndex((files) => isDeepStrictEqual(files, now)));
      await shop.git('fsck', '--strict');
    }
    await shop.setValue('https://last.example.com');
    // Refused while the push of a killed one is still under way.
    await expect.poll(async () => (await once(publish(), 'exit'))[0]).toBe(0);
    expect((await shop.files())['edge/shop-web/platform-config.yaml']).toBe(
      'url: https://last.example.com\n',
    );
  });
});

const AUTHORIZATIONS = {
  github: `Bearer ${TOKEN}`,
  gitea: `token ${TOKEN}`,
  gitlab: `Bearer ${TOKEN}`,
  azure: `Basic ${Buffer.from(`:${TOKEN}`).toString('base64')}`,
};

type Kind = keyof typeof AUTHORIZATIONS;

const urlOf = (kind: Kind, forge: ForgeServer, number: number): string =>
  kind === 'azure'
    ? `${forge.api}/org/_git/gitops/pullrequest/${number}`
    : `https://forge.example/org/gitops/pulls/${number}`;

const proposeOn =
  (kind: Kind) =>
  async (
    shop: Awaited<ReturnType<typeof workshop>>,
    forge: ForgeServer,
    more: Partial<TreeDelivery> = {},
  ): Promise<Delivered> =>
    await shop.publish({
      pullRequest: true,
      forge: `${kind}=${forge.api}`,
      ...(kind === 'azure' && { to: parseTreeTarget(`git+${shop.azureUrl}`) }),
      env: { ...shop.env, FLEET_FORGE_TOKEN: TOKEN },
      ...more,
    });

const labelsOf = (forge: ForgeServer): readonly (readonly string[])[] =>
  forge.pulls.map(({ labels }) => labels.map(({ name }) => name));

/** What the API of each forge says differently; the branches are the same for all. */
describe.each(['gitea', 'gitlab', 'azure'] as const)('a proposal on %s', (kind) => {
  const propose = proposeOn(kind);

  test('is opened with its label, found, replaced and opened again, except after a person closed it', async () => {
    await using shop = await workshop();
    await using forge = await startForge(kind, shop.bare);
    await writeFiles(shop.at('dev'), kalypsoDev(CONTROL_PLANE, 'a'.repeat(40)));
    forge.failNext = { status: 503, message: 'busy' };
    expect((await propose(shop, forge)).problems.map(({ code }) => code)).toEqual(['FORGE_UNREACHABLE']);
    forge.failNext = { status: 401, message: 'Bad credentials' };
    const refused = await propose(shop, forge);
    expect(refused.problems.map(({ code }) => code)).toEqual(['FORGE_REFUSED']);
    expect(JSON.stringify([refused, refused.problems.map(String)])).not.toContain(TOKEN);
    const first = await propose(shop, forge);
    expect(first).toMatchObject({ outcome: 'proposed', pullRequest: urlOf(kind, forge, 1) });
    expect(labelsOf(forge)).toEqual([['promoted']]);
    for (const pull of forge.pulls) pull.labels = [];
    await propose(shop, forge);
    expect(labelsOf(forge)).toEqual([['promoted']]);
    await shop.setValue('https://second.example.com');
    const second = await propose(shop, forge);
    expect(second.superseded).toEqual([first.proposal]);
    await shop.setValue('https://eu.example.com');
    expect(await propose(shop, forge)).toMatchObject({
      outcome: 'proposed',
      proposal: first.proposal,
      superseded: [second.proposal],
    });
    expect(forge.pulls.map(({ state }) => state)).toEqual(['closed', 'closed', 'open']);
    for (const pull of forge.pulls) pull.state = 'closed';
    await shop.git('update-ref', '-d', `refs/heads/${first.proposal}`);
    expect(await propose(shop, forge)).toMatchObject({ outcome: 'declined', proposal: first.proposal });
    expect(await shop.branches()).toEqual(['dev']);
    expect([...forge.authorizations]).toEqual([AUTHORIZATIONS[kind]]);
  });
});

describe('a proposal on github', () => {
  const kind = 'github';
  const propose = proposeOn(kind);

  test('is one branch named by the change and one pull request, in any number of runs', async () => {
    await using shop = await workshop();
    await using forge = await startForge(kind, shop.bare);
    const before = await shop.head();
    const first = await propose(shop, forge);
    expect(first).toMatchObject({
      outcome: 'proposed',
      proposal: expect.stringMatching(/^deployment\/[0-9a-f]{12}$/),
      pullRequest: urlOf(kind, forge, 1),
    });
    expect(await shop.branches()).toEqual([first.proposal, 'dev']);
    expect(await shop.head()).toBe(before);
    expect(await shop.git('rev-parse', `${first.proposal}^`)).toBe(before);
    expect(forge.pulls).toMatchObject([
      { head: first.proposal, base: 'dev', title: 'Update the manifests of dev', state: 'open', labels: [] },
    ]);
    const writes = forge.writes.length;
    // An unrelated commit on the base is no reason for another one.
    await shop.strangers('notes.md', 'by hand');
    expect(await propose(shop, forge)).toMatchObject({ outcome: 'unchanged', proposal: first.proposal });
    expect(forge.writes).toHaveLength(writes);
    expect(await shop.git('rev-list', '--count', `${before}..${first.proposal}`)).toBe('1');
  });

  test('replaces the former proposal, and none of other people', async () => {
    await using shop = await workshop();
    await using forge = await startForge(kind, shop.bare);
    const first = await propose(shop, forge);
    // Somebody's own branch of the same look, with a pull request of theirs; and one of ours that somebody added to.
    await commitFolder(shop.bare, 'deployment/0123456789ab', shop.at('start'), { message: 'By hand' });
    await shop.setValue('https://second.example.com');
    const second = await propose(shop, forge);
    expect(second.superseded).toEqual([first.proposal]);
    await shop.strangers('edge/shop-web/extra.yaml', 'by hand', second.proposal);
    await shop.setValue('https://third.example.com');
    const third = await propose(shop, forge);
    expect(third).toMatchObject({ outcome: 'proposed', superseded: [] });
    expect((await shop.branches()).toSorted()).toEqual(
      ['deployment/0123456789ab', second.proposal, third.proposal, 'dev'].map(String).toSorted(),
    );
    expect(forge.pulls.map(({ head, state }) => [head, state])).toEqual([
      [first.proposal, 'closed'],
      [second.proposal, 'open'],
      [third.proposal, 'open'],
    ]);
    // Wanted again: nobody has declined it, we closed it ourselves.
    await shop.setValue('https://eu.example.com');
    const again = await propose(shop, forge);
    expect(again.problems).toEqual([]);
    expect(again).toMatchObject({
      outcome: 'proposed',
      proposal: first.proposal,
      superseded: [third.proposal],
    });
    expect(forge.pulls.map(({ state }) => state)).toEqual(['closed', 'open', 'closed', 'open']);
    // Wanted no more: the platform is again as the branch is.
    await shop.git('update-ref', 'refs/heads/dev', await shop.head(again.proposal));
    expect(await propose(shop, forge)).toMatchObject({ outcome: 'unchanged', superseded: [again.proposal] });
  });

  test('that was closed is not opened again; another change is', async () => {
    await using shop = await workshop();
    await using forge = await startForge(kind, shop.bare);
    const first = await propose(shop, forge);
    for (const pull of forge.pulls) pull.state = 'closed';
    await shop.git('update-ref', '-d', `refs/heads/${first.proposal}`);
    expect(await propose(shop, forge)).toMatchObject({ outcome: 'declined', proposal: first.proposal });
    expect(await shop.branches()).toEqual(['dev']);
    await shop.setValue('https://second.example.com');
    expect(await propose(shop, forge)).toMatchObject({ outcome: 'proposed' });
    expect(forge.pulls).toHaveLength(2);
  });

  test('has its label when another commit is promoted, also after the label was lost', async () => {
    await using shop = await workshop();
    await using forge = await startForge(kind, shop.bare);
    await writeFiles(shop.at('dev'), kalypsoDev(CONTROL_PLANE, 'a'.repeat(40)));
    await propose(shop, forge);
    expect(labelsOf(forge)).toEqual([['promoted']]);
    for (const pull of forge.pulls) pull.labels = [];
    await propose(shop, forge);
    expect(labelsOf(forge)).toEqual([['promoted']]);
  });

  test('whose pull request could not be opened has one after the next run', async () => {
    await using shop = await workshop();
    await using forge = await startForge(kind, shop.bare);
    const without = await propose(shop, forge, { env: shop.env });
    expect(without).toMatchObject({ outcome: 'proposed', pullRequest: undefined });
    expect(forge.requests).toEqual([]);
    forge.failNext = { status: 503, message: 'busy' };
    const failed = await propose(shop, forge);
    expect(failed.problems.map(({ code }) => code)).toEqual(['FORGE_UNREACHABLE']);
    forge.failNext = { status: 401, message: 'Bad credentials' };
    const refused = await propose(shop, forge);
    expect(refused.problems.map(({ code }) => code)).toEqual(['FORGE_REFUSED']);
    expect(JSON.stringify([refused, refused.problems.map(String)])).not.toContain(TOKEN);
    expect(await propose(shop, forge)).toMatchObject({
      outcome: 'proposed',
      proposal: without.proposal,
      pullRequest: urlOf(kind, forge, 1),
    });
    expect([...forge.authorizations]).toEqual([AUTHORIZATIONS[kind]]);
    const found = await runCommand(['grep', '-rl', TOKEN, shop.at('.')]);
    expect(found.stdout).toBe('');
  });
});

test('a proposal needs an existing branch and a known forge', async () => {
  await using shop = await workshop();
  const to = parseTreeTarget(`git+${shop.url}#missing`);
  const { problems } = await shop.publish({ to, pullRequest: true });
  expect(problems.map(({ code }) => code)).toEqual(['SOURCE_MISSING']);
  const unknown = await shop.publish({ pullRequest: true, env: { ...shop.env, FLEET_FORGE_TOKEN: TOKEN } });
  expect(unknown.problems.map(({ code, hint }) => [code, hint?.slice(0, 19)])).toEqual([
    ['USAGE', 'Give --forge github'],
  ]);
});

test("publish without --to uses the environment's GitOpsRepo, with insteadOf of Git", async () => {
  await using shop = await workshop(true);
  await writeFiles(shop.at('dev'), {
    'gitops.yaml': `apiVersion: scheduler.kalypso.io/v1alpha1
kind: GitOpsRepo
metadata: {name: dev}
spec: {repo: https://github.com/org/gitops, branch: dev, path: .}
`,
  });
  await runOrFail(
    ['git', 'config', '--global', `url.${shop.url}.insteadOf`, 'https://github.com/org/gitops'],
    { env: shop.env },
  );
  expect(await shop.publish({ to: parseTreeTarget('gitops') })).toMatchObject({
    outcome: 'pushed',
    to: 'https://github.com/org/gitops dev',
  });
  expect(await shop.files()).toHaveProperty('edge/README.md');
});

test('publish to a directory writes the whole tree behind a link that changes atomically', async () => {
  await using shop = await workshop();
  const to = parseTreeTarget(shop.at('trees'));
  const dev = shop.at('trees/dev');
  expect(await shop.publish({ to })).toMatchObject({ outcome: 'written', unchanged: 0 });
  const first = await readlink(dev);
  expect((await readTree(shop.at('trees', first)))['edge/shop-web/platform-config.yaml']).toBe(
    'url: https://eu.example.com\n',
  );
  expect(await shop.publish({ to })).toMatchObject({ outcome: 'unchanged' });
  for (const value of ['https://second.example.com', 'https://third.example.com']) {
    await shop.setValue(value);
    expect(await shop.publish({ to })).toMatchObject({
      outcome: 'written',
      written: ['edge/shop-web/platform-config.yaml'],
    });
  }
  expect(await readFile(join(dev, 'edge/shop-web/platform-config.yaml'), 'utf8')).toBe(
    'url: https://third.example.com\n',
  );
  expect(await readdir(shop.at('trees/.trees'))).toHaveLength(2);
  // What is only held stays.
  await rm(shop.at('shop'), { recursive: true });
  expect(await shop.publish({ to })).toMatchObject({ outcome: 'unchanged', removed: [] });
  await rm(dev);
  await mkdir(dev);
  const { problems } = await shop.publish({ to });
  expect(problems.map(({ code }) => code)).toEqual(['IO']);
  expect((await lstat(dev)).isDirectory()).toBe(true);
});

test('the loop publishes the tree after a build, and again until it succeeded', async () => {
  await using shop = await workshop();
  const file = shop.at('fleet-scheduler.yaml');
  await writeFile(
    file,
    `platform: main\ncache: cache\ntree: git+${shop.url}\nenvironments: [dev]\nmaps:\n${shop.maps.map((map) => `  - ${map}\n`).join('')}`,
  );
  const lines: string[] = [];
  const say = (_: object, message: string): void => {
    lines.push(message);
  };
  const step = createDeliverStep({
    configuration: await readConfiguration({ config: file }, shop.at('.')),
    env: shop.env,
    cwd: process.cwd(),
    clock: () => new Date('2026-11-21T08:00:00Z'),
    log: { info: say, warn: say, error: say } as never,
    random: () => 0.5,
  });
  const { signal } = new AbortController();
  const hook = join(shop.bare, 'hooks/pre-receive');
  await mkdir(join(shop.bare, 'hooks'), { recursive: true });
  await writeFile(hook, '#!/bin/sh\nexit 1\n');
  await chmod(hook, 0o755);
  await expect(step(true, signal)).rejects.toMatchObject({ code: 'GIT_REFUSED' });
  await rm(hook);
  await step(false, signal);
  expect(await shop.files()).toHaveProperty('edge/README.md');
  const after = await shop.head();
  // Nothing was built: nobody looks, whatever the files say.
  await shop.setValue('https://second.example.com');
  await step(false, signal);
  expect(await shop.head()).toBe(after);
  await step(true, signal);
  expect(await shop.head()).not.toBe(after);
  expect(lines).toEqual(['tree not delivered', 'tree pushed', 'tree pushed']);
});

test('parseTreeTarget refuses an address that is not a place for a tree', () => {
  for (const text of [
    'oci://r.example/x',
    'https://git.example/x',
    'git+x',
    'r.example/x',
    '',
    'git+https://x/y#a..b',
  ]) {
    let code: unknown;
    try {
      parseTreeTarget(text);
    } catch (error) {
      code = isFleetError(error) ? error.code : error;
    }
    expect(code, text).toBe('USAGE');
  }
});
