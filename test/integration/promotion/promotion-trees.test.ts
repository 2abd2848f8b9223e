import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { deliverTrees } from '../../../scheduler/deliver/tree/deliver-trees.ts';
import type { Delivered, TreeDelivery } from '../../../scheduler/deliver/tree/tree-delivery.ts';
import { createCommitReader } from '../../../scheduler/deliver/tree/read-commits.ts';
import { readFlux } from '../../../scheduler/hub/ingest/followers/read-flux.ts';
import { registerFollower } from '../../../scheduler/hub/ingest/followers/register-follower.ts';
import { takeNotification } from '../../../scheduler/hub/ingest/followers/take-notification.ts';
import { keepTreeCommits, readClusters } from '../../../scheduler/hub/ingest/followers/tree-commits.ts';
import { siteSigner } from '../../../scheduler/hub/sites/site-signer.ts';
import { stepRollout } from '../../../scheduler/hub/promote/rollout/step-rollout.ts';
import { openReleases } from '../../../scheduler/release/write/open-releases.ts';
import { parseTreeTarget } from '../../../scheduler/deliver/tree/tree-target.ts';
import { type ForgeServer, startForge } from '../../harness/neighbours/forge-server.ts';
import { commitFolder, makeGitRepository } from '../../harness/neighbours/git-repository.ts';
import { startGitServer } from '../../harness/neighbours/git-server.ts';
import { runCommand, runOrFail } from '../../harness/run/run-command.ts';
import { temporaryDirectory, writeFiles } from '../../scheduler/file-tree.ts';
import { hubOf } from '../../scheduler/hub/office-agents.ts';
import {
  type ChainOffice,
  FILES,
  NOW,
  openBuiltOffice,
  openChainOffice,
} from '../../scheduler/release/chain/chain-office.ts';

const TOKEN = 'a-token-that-nobody-may-see';
const POLICY = `apiVersion: fleet-ferry/v1alpha1
kind: PromotionPolicy
metadata: {name: dev-to-qa}
spec: {from: dev, to: qa, compliance: {percent: 95}, soak: 12h, approvals: {required: 2}}
`;

/** A chain of environments, and a GitOps repository with a branch for each of them, behind HTTP and a forge. */
const workshop = async (files?: typeof FILES) => {
  const office = files ? await openChainOffice(files) : await openBuiltOffice();
  const root = await temporaryDirectory();
  const bare = join(root, 'git/org/gitops.git');
  await writeFiles(join(root, 'start'), { 'README.md': 'by hand\n' });
  const start = join(root, 'start');
  await makeGitRepository(bare, { dev: start, qa: start, prod: start });
  const server = await startGitServer(join(root, 'git'));
  const forge = await startForge('gitea', bare);
  const env = { PATH: process.env['PATH'], HOME: root, GIT_CONFIG_NOSYSTEM: '1' };
  const git = async (...words: readonly string[]): Promise<string> =>
    (await runOrFail(['git', '--git-dir', bare, ...words], { env })).stdout.trim();
  const place = {
    ...office.platform,
    cacheDirectory: join(root, 'cache'),
    layout: office.layout,
    to: parseTreeTarget(`git+${server.url}/org/gitops.git`),
    env: { ...env, FLEET_FORGE_TOKEN: TOKEN },
  };
  const publish = async (more: Partial<TreeDelivery> = {}): Promise<Delivered> => {
    const [delivered] = await deliverTrees({
      ...place,
      environments: ['qa'],
      pullRequest: true,
      forge: `gitea=${forge.api}`,
      connection: { plainHttp: [], env: {} },
      now: NOW,
      signal: new AbortController().signal,
      ...more,
    });
    if (!delivered) throw new Error('nothing was delivered');
    return delivered;
  };
  return {
    office,
    forge,
    root,
    bare,
    env,
    git,
    place,
    publish,
    /** What a person does who merges or closes the newest pull request, and deletes its branch. */
    settle: async (how: 'merged' | 'closed', branch = 'qa'): Promise<void> => {
      const pull = forge.pulls.at(-1);
      if (!pull) throw new Error('no pull request');
      if (how === 'merged') await git('update-ref', `refs/heads/${branch}`, `refs/heads/${pull.head}`);
      Object.assign(pull, { state: 'closed', merged: how === 'merged' });
      await git('update-ref', '-d', `refs/heads/${pull.head}`);
    },
    level: (ref: string): Promise<string> => git('show', `${ref}:press/shop-web/platform-config.yaml`),
    [Symbol.asyncDispose]: async () => {
      await server[Symbol.asyncDispose]();
      await forge[Symbol.asyncDispose]();
    },
  };
};

const pulls = (forge: ForgeServer): readonly string[] =>
  forge.pulls.map(({ state, merged, title }) => `${merged ? 'merged' : state}: ${title}`);

const promoteLevel = async (office: ChainOffice, level: string): Promise<string> => {
  office.config('base/level.yaml', level);
  await office.build();
  await office.promote('dev', 'qa', { reason: 'load test `passed` @all' });
  const { digest } = await office.candidateOf('dev');
  return `${digest}`;
};

test('a promotion is proposed to the branch of the next environment, with the facts for the decision', async () => {
  await using shop = await workshop();
  const { office, forge } = shop;
  expect(await shop.publish()).toMatchObject({ outcome: 'waiting' });
  expect(forge.pulls).toEqual([]);
  const first = await promoteLevel(office, 'base-1');
  const proposed = await shop.publish();
  expect(proposed).toMatchObject({ outcome: 'proposed', problems: [] });
  const [pull] = forge.pulls;
  expect(pull).toMatchObject({ base: 'qa', head: proposed.proposal });
  const short = first.slice(0, 19);
  expect(pull?.title).toBe(`Promote ${short} from dev to qa`);
  const { commit } =
    (await office.candidateOf('dev')).document.sources.find(({ role }) => role === 'platform') ?? {};
  expect(
    pull?.body,
  ).toBe(`Promotion 1 from dev to qa, decided by \`ada\` at 2026-11-23T08:00:00Z: \`load test  passed  @all\`.

Candidate: ${first}

Conditions of the link
- none: the link has no policy, or this is a rollback

Packages
- press/shop-web

${(await shop.git('diff', '--name-only', `qa..${pull?.head}`)).split('\n').length} files written, 0 removed.

Made from
- https://git.example/halden/platform main ${commit}`);
  const message = await shop.git('log', '-1', '--format=%B', `${pull?.head}`);
  expect(message).toContain(`Fleet-Ferry-Candidate: ${first}`);
  // The same again, and on another machine.
  expect(await shop.publish()).toMatchObject({ outcome: 'unchanged', proposal: proposed.proposal });
  expect(pulls(forge)).toHaveLength(1);
  await shop.settle('merged');
  expect(await shop.publish()).toMatchObject({ outcome: 'unchanged', proposal: undefined });
  expect(await shop.level('qa')).toContain('base-1');
});

test('a change before the merge is added to the proposal; a later one becomes a new proposal', async () => {
  await using shop = await workshop();
  const { office, forge } = shop;
  await promoteLevel(office, 'base-1');
  const { proposal } = await shop.publish();
  office.config('environments/qa/level.yaml', 'qa-1');
  expect(await shop.publish()).toMatchObject({ outcome: 'proposed', proposal });
  expect(pulls(forge)).toHaveLength(1);
  expect(await shop.git('rev-list', '--count', `qa..${proposal}`)).toBe('1');
  expect(await shop.level(`${proposal}`)).toContain('qa-1');
  await shop.settle('merged');
  office.config('environments/qa/level.yaml', 'qa-2');
  const direct = await shop.publish();
  expect(direct.outcome).toBe('proposed');
  expect(direct.proposal).not.toBe(proposal);
  expect(pulls(forge)[1]).toBe('open: Update the manifests of qa');
  expect(forge.pulls[1]?.body).toContain('Promotion 1 from dev to qa');
});

test('a closed proposal is not opened again for the same candidate', async () => {
  await using shop = await workshop();
  const { office, forge } = shop;
  await promoteLevel(office, 'base-1');
  const { proposal } = await shop.publish();
  await shop.settle('closed');
  expect(await shop.publish()).toMatchObject({ outcome: 'declined', proposal });
  // Not with another layer either: it would bring the candidate that was declined.
  office.config('environments/qa/level.yaml', 'qa-1');
  expect(await shop.publish()).toMatchObject({ outcome: 'declined', proposal });
  await promoteLevel(office, 'base-2');
  expect(await shop.publish()).toMatchObject({ outcome: 'proposed' });
  expect(pulls(forge).map((one) => one.split(':')[0])).toEqual(['closed', 'open']);
});

test('the next promotion replaces the former proposal, and lists what differs', async () => {
  const files = { ...FILES, 'promotion/dev-to-qa.yaml': POLICY };
  await using shop = await workshop(files);
  const { office, forge } = shop;
  await office.build();
  await promoteLevel(office, 'base-1');
  const first = await shop.publish();
  await promoteLevel(office, 'base-2');
  const second = await shop.publish();
  expect(second).toMatchObject({ outcome: 'proposed', superseded: [first.proposal] });
  expect(forge.pulls.map(({ state, labels }) => [state, labels.map(({ name }) => name)])).toEqual([
    ['closed', ['superseded']],
    ['open', []],
  ]);
  expect(forge.pulls[1]?.body).toMatch(
    /\nVersions\n- `application\/shop-web` [0-9a-f]{12} -> [0-9a-f]{12}\n/,
  );
});

test('the proposal of a rejected candidate is closed', async () => {
  await using shop = await workshop();
  const { office, forge } = shop;
  await promoteLevel(office, 'base-1');
  const { proposal } = await shop.publish();
  await office.reject('qa', 'loses orders');
  expect(await shop.publish({ dryRun: true })).toMatchObject({ outcome: 'waiting', superseded: [] });
  expect(await shop.publish()).toMatchObject({ outcome: 'waiting', superseded: [proposal] });
  expect(pulls(forge).map((one) => one.split(':')[0])).toEqual(['closed']);
  expect(await shop.git('for-each-ref', '--format=%(refname:lstrip=2)', 'refs/heads/deployment')).toBe('');
});

test('--candidate renders the given candidate, and in a chained environment only the promoted one', async () => {
  await using shop = await workshop();
  const { office } = shop;
  const old = await office.candidateOf('dev');
  const given = old.digest === undefined ? [] : [{ digest: old.digest, document: old.document }];
  const [candidate] = given;
  await promoteLevel(office, 'base-1');
  const dev = { environments: ['dev'], pullRequest: false, candidate };
  expect(await shop.publish(dev)).toMatchObject({ outcome: 'pushed' });
  expect(await shop.level('dev')).toContain('base-0');
  const refused = await shop.publish({ candidate });
  expect(refused).toMatchObject({ outcome: 'failed', problems: [{ code: 'NOT_PROMOTED' }] });
  const promoted = await office.candidateOf('dev');
  const same = promoted.digest === undefined ? undefined : { ...promoted, digest: promoted.digest };
  expect(await shop.publish({ candidate: same })).toMatchObject({ outcome: 'proposed', problems: [] });
});

test('commits have the configured committer and a signature that git verifies', async () => {
  await using shop = await workshop();
  const { office, root, env } = shop;
  await promoteLevel(office, 'base-1');
  const key = join(root, 'signing');
  await runOrFail(['ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-C', 'bot', '-f', key]);
  await writeFile(
    join(root, '.gitconfig'),
    `[gpg]\n\tformat = ssh\n[user]\n\tsigningkey = ${key}\n[gpg "ssh"]\n\tallowedSignersFile = ${root}/signers\n`,
  );
  const { stdout: publicKey } = await runOrFail(['cat', `${key}.pub`]);
  await writeFile(join(root, 'signers'), `bot@example.com ${publicKey}`);
  const identity = { committer: 'Fleet Bot <bot@example.com>', sign: true };
  const { proposal, problems } = await shop.publish({ identity });
  expect(problems).toEqual([]);
  const verified = await runCommand(['git', '--git-dir', shop.bare, 'verify-commit', `${proposal}`], { env });
  expect(verified.stderr).toContain('Good "git" signature for bot@example.com with ED25519 key');
  expect(verified.code).toBe(0);
  expect(await shop.git('log', '-1', '--format=%an <%ae> %cn <%ce> %at', `${proposal}`)).toBe(
    `Fleet Bot <bot@example.com> Fleet Bot <bot@example.com> ${NOW.getTime() / 1000}`,
  );
  // It is recognised as ours: the next one takes its place.
  await promoteLevel(office, 'base-2');
  expect(await shop.publish({ identity })).toMatchObject({ superseded: [proposal] });
  // Without a usable key nothing is pushed.
  await writeFile(join(root, '.gitconfig'), `[gpg]\n\tformat = ssh\n[user]\n\tsigningkey = ${root}/none\n`);
  await promoteLevel(office, 'base-3');
  const unsigned = await shop.publish({ identity });
  expect(unsigned.problems.map(({ code, message }) => [code, message.slice(0, 30)])).toEqual([
    ['GIT_REFUSED', 'git did not sign the commit: e'],
  ]);
});

test("another person's commit on the proposal is kept", async () => {
  await using shop = await workshop();
  const { office, root, bare } = shop;
  await promoteLevel(office, 'base-1');
  const { proposal } = await shop.publish();
  await writeFiles(join(root, 'theirs'), { 'press/shop-web/extra.yaml': 'by hand\n' });
  const theirs = await commitFolder(bare, `${proposal}`, join(root, 'theirs'), { message: 'By hand' });
  office.config('environments/qa/level.yaml', 'qa-1');
  expect(await shop.publish()).toMatchObject({ outcome: 'unchanged', proposal });
  expect(await shop.git('rev-parse', `${proposal}`)).toBe(theirs);
});

const RINGS = `apiVersion: fleet-ferry/v1alpha1
kind: RolloutPolicy
metadata: {name: qa-rings}
spec:
  environment: qa
  stages:
    - {name: pilot, selector: {matchLabels: {ring: pilot}}, soak: 12h}
    - {name: all, percent: 100}
  onFailure: takeBack
`;

/** What notification-controller posts after the Kustomization that applies a cluster's folder was reconciled. */
const fluxSays = (commit: string, at: Date, error?: string): Buffer =>
  Buffer.from(
    JSON.stringify({
      involvedObject: {
        kind: 'Kustomization',
        namespace: 'flux-system',
        name: 'tree',
        apiVersion: 'kustomize.toolkit.fluxcd.io/v1',
      },
      severity: error === undefined ? 'info' : 'error',
      timestamp: at.toISOString(),
      message: error ?? 'Reconciliation finished in 33ms, next run in 10m0s',
      reason: error === undefined ? 'ReconciliationSucceeded' : 'HealthCheckFailed',
      metadata: { revision: `qa@sha1:${commit}` },
    }),
  );

test('the stages of a rollout are written to the folders of clusters one after the other, by the reports of Flux', async () => {
  await using shop = await workshop();
  const { office, forge } = shop;
  await using hub = await hubOf(office);
  const signer = await siteSigner(hub);
  const channel = { environment: 'qa', clusterType: 'press' };
  let hours = 0;
  const now = (): Date => new Date(NOW.getTime() + hours * 3_600_000);
  const register = (site: string, labels: Readonly<Record<string, string>> = {}) =>
    registerFollower(hub.store, { site, name: 'edge', kind: 'flux', channel, labels }, signer, now());
  await register('plant-7', { ring: 'pilot' });
  await register('plant-8');
  const publish = async (more: Partial<TreeDelivery> = {}) =>
    shop.publish({
      clusters: await readClusters(hub.store),
      pullRequest: false,
      now: now(),
      ...more,
    });
  const readCommits = createCommitReader();
  /** Clusters pull the branch, and Flux reports. */
  const report = async (errors: Readonly<Record<string, string>> = {}): Promise<readonly string[]> => {
    const clusters = await readClusters(hub.store);
    const place = { ...shop.place, signal: new AbortController().signal };
    await keepTreeCommits(hub.store, await readCommits(place, clusters), now());
    const head = await shop.git('rev-parse', 'qa');
    const results: string[] = [];
    for (const row of await hub.store.db.selectFrom('agent').selectAll().orderBy('id').execute()) {
      const body = fluxSays(head, now(), errors[row.site]);
      results.push(await takeNotification(hub, row, { notification: readFlux(body), body, now: now() }));
    }
    return results;
  };
  const step = async () => {
    using releases = await openReleases(office.layout, { command: 'serve', now: now() });
    return (await stepRollout(hub, office.keys, releases, channel, now()))?.decided;
  };
  const folders = ['press', 'clusters/plant-7/edge', 'clusters/plant-8/edge', 'clusters/plant-9/edge'];
  const levels = async (ref = 'qa'): Promise<readonly string[]> =>
    Promise.all(
      folders.map(async (folder) => {
        const text = await shop.git('show', `${ref}:${folder}/shop-web/platform-config.yaml`).catch(() => '');
        return /"LEVEL": "([\w-]+)/.exec(text)?.[1] ?? 'none';
      }),
    );

  await promoteLevel(office, 'base-1');
  await office.build();
  expect(await publish()).toMatchObject({ outcome: 'pushed', problems: [] });
  expect(await levels()).toEqual(['base-1', 'base-1', 'base-1', 'none']);
  expect(await shop.git('show', 'qa:clusters/plant-7/edge/RELEASE')).toMatch(
    /^channel qa\/press\nbundle sha256:[0-9a-f]{64}$/,
  );

  office.commit({ 'promotion/rings.yaml': RINGS });
  await promoteLevel(office, 'base-2');
  // Promoted, and not released yet.
  expect(await publish()).toMatchObject({ outcome: 'unchanged', problems: [] });
  hours += 1;
  await office.build({ now: now() });
  await register('plant-9');
  const dry = await publish({ dryRun: true });
  expect([dry.outcome, dry.written.some((path) => path.startsWith('press/'))]).toEqual(['planned', false]);
  expect(await publish()).toMatchObject({ outcome: 'pushed', problems: [] });
  expect(await levels()).toEqual(['base-1', 'base-2', 'base-1', 'base-1']);
  expect(await shop.git('log', '-1', '--format=%B', 'qa')).toContain('- qa/press: stage pilot (1 of 2)');
  expect(await publish()).toMatchObject({ outcome: 'unchanged' });
  // A directory follows with the folder of the cluster type, which has the earlier content also where it is new.
  const directory = join(shop.root, 'trees');
  expect(await publish({ to: parseTreeTarget(directory) })).toMatchObject({ outcome: 'written' });
  const config = await readFile(join(directory, 'qa/press/shop-web/platform-config.yaml'), 'utf8');
  expect(config).toContain('base-1');
  // Its own layer moves on: that is a release of its own first.
  office.config('environments/qa/level.yaml', 'qa-1');
  expect(await publish()).toMatchObject({ outcome: 'unchanged', problems: [] });

  // Nobody reported, so nothing advances; then the soak counts.
  hours += 24;
  expect(await step()).toBeUndefined();
  expect(await report()).toEqual(['taken', 'taken', 'taken']);
  hours += 11;
  expect(await step()).toBeUndefined();
  hours += 2;
  expect(await step()).toMatchObject({ kind: 'advance', stage: 'all' });
  const second = await publish({ pullRequest: true });
  expect(second).toMatchObject({ outcome: 'proposed', problems: [] });
  expect(await levels()).toEqual(['base-1', 'base-2', 'base-1', 'base-1']);
  expect(await levels(`${second.proposal}`)).toEqual(['base-2', 'base-2', 'base-2', 'base-2']);
  expect(forge.pulls.at(-1)?.body).toContain('- qa/press: stage all (2 of 2)');
  await shop.settle('merged');

  // One cluster fails: what the rollout reached gets the old content back.
  hours += 1;
  expect(await report({ 'plant-8': 'timeout waiting for: [Kustomization/shop]' })).toEqual([
    'taken',
    'taken',
    'taken',
  ]);
  expect(await step()).toMatchObject({ kind: 'take-back', stage: 'all' });
  expect(await publish()).toMatchObject({ outcome: 'pushed', problems: [] });
  expect(await levels()).toEqual(['base-1', 'base-1', 'base-1', 'base-1']);
});

test('an environment with stages is not published without the layout', async () => {
  await using shop = await workshop({
    ...FILES,
    'promotion/rings.yaml': RINGS.replace('environment: qa', 'environment: dev'),
  });
  const { outcome, problems } = await shop.publish({
    environments: ['dev'],
    layout: undefined,
    pullRequest: false,
  });
  expect([outcome, ...problems.map(({ code }) => code)]).toEqual(['failed', 'USAGE']);
});
