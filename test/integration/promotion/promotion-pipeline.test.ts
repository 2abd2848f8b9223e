import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Agent } from 'undici';
import { expect, test } from 'vitest';
import { canonicalBytes, type Json } from '#bundles/json/canonical';
import { loadSigningKey } from '#bundles/trust/keys/key';
import { signPayload } from '#bundles/trust/statements/sign-payload';
import { commitFolder, makeGitRepository } from '../../harness/neighbours/git-repository.ts';
import { runCommand, succeed } from '../../harness/run/run-command.ts';
import { runScheduler } from '../../harness/run/run-scheduler.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { writeFiles } from '../../scheduler/file-tree.ts';
import { ours } from '../../scheduler/fleet-platform.ts';
import { FILES } from '../../scheduler/release/chain/chain-office.ts';
import { serve } from '../hub/hub-process.ts';

const WAIT = { timeout: 120_000, interval: 200 };

test('a pipeline submits a candidate, approves, promotes and waits by plain HTTP only', async () => {
  await using folder = await temporaryDirectory('promotion-pipeline');
  const at = (...path: readonly string[]): string => join(folder.path, ...path);
  const gate = 'spec: {from: dev, to: qa, approvals: {required: 1, notAuthor: false, eachWorkspace: true}}\n';
  const shop = FILES['apps/shop/deploy/workload.yaml'] ?? '';
  const files = {
    ...FILES,
    'promotion/qa.yaml': ours('PromotionPolicy', 'dev-to-qa', gate),
    'base/sales.yaml': ours('Workspace', 'sales', 'spec: {siteValues: [gateway]}\n'),
    'apps/shop/deploy/workload.yaml': shop.replace('environment: qa,', 'environment: qa, siteConfig: true,'),
  };
  await writeFiles(at('platform'), files);
  await makeGitRepository(at('platform.git'), { main: at('platform') });
  await writeFiles(at('gitops'), { 'README.md': 'by hand\n' });
  await makeGitRepository(at('gitops.git'), { main: at('gitops') });
  await writeFiles(folder.path, {
    'fleet-scheduler.yaml': `platform: ${pathToFileURL(at('platform.git')).href}#main\nkeys: keys\nlayout: releases\ndb: hub.db\ncache: cache\npoll: 1s\ntree: git+${pathToFileURL(at('gitops.git')).href}\ntreeClusters: true\n`,
  });
  const scheduler = async (words: string): Promise<Record<string, unknown>> => {
    const outcome = await runScheduler(folder.path, [...words.split(' '), '--json']);
    return JSON.parse(succeed(outcome).stdout) as never;
  };
  await scheduler('root init --dev --fleet halden');
  // The pipeline's candidate: the state of now. The branch moves on.
  const { candidates } = (await scheduler('build -e dev')) as { candidates?: Record<string, string> };
  const digest = candidates?.['dev'] ?? '';
  const candidate = JSON.parse(
    await readFile(at('releases/blobs/sha256', digest.slice(7)), 'utf8'),
  ) as object;
  await writeFiles(at('platform'), {
    'base/level.yaml': ours('Config', 'level', 'spec:\n  values: {LEVEL: "base-9"}\n'),
  });
  await commitFolder(at('platform.git'), 'main', at('platform'));
  const { token } = await scheduler(
    'tokens create --person pipeline-7 --allow submit:dev --allow approve:qa/sales --allow promote:qa --allow wait:*',
  );
  const { token: plant } = await scheduler(
    'sites follow plant-7/edge --by flux --channel qa/press --allow-unreleased',
  );

  await using hub = await serve(folder.path, ['--listen', '127.0.0.1:0']);
  await using ends = new AsyncDisposableStack();
  const http = ends.adopt(new Agent({ connect: { rejectUnauthorized: false } }), (agent) => agent.close());
  const ask = async (
    method: 'GET' | 'POST',
    path: string,
    body?: object,
    bearer = String(token),
  ): Promise<{ readonly status: number; readonly json: Record<string, unknown> }> => {
    const answer = await http.request({
      origin: hub.url,
      path: path.startsWith('/') ? path : `/v1/environments/${path}`,
      method,
      headers: { authorization: `Bearer ${bearer}`, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    });
    return { status: answer.statusCode, json: (await answer.body.json()) as Record<string, unknown> };
  };
  const inGate = async () => (await ask('GET', 'qa/gate')).json['candidate'];

  // The hub builds the newest state, and then what was submitted.
  await expect.poll(inGate, WAIT).not.toBe(digest);
  expect(await ask('POST', 'dev/candidates', { candidate, reason: 'tag 1.4' })).toMatchObject({
    status: 200,
    json: { outcome: 'submitted', candidate: digest, person: 'pipeline-7' },
  });
  await expect.poll(inGate, WAIT).toBe(digest);
  expect(await ask('POST', 'qa/promotions', { candidate: digest })).toMatchObject({
    status: 409,
    json: { code: 'GATE_CLOSED' },
  });
  const { json: draft } = await ask('GET', `qa/approval?person=ann&reason=ok&candidate=${digest}`);
  const key = loadSigningKey(await readFile(at('keys', 'bundle.key'), 'utf8'));
  const signed = await signPayload(canonicalBytes(draft as Json), key);
  const statement = JSON.parse(signed.toString()) as object;
  // The hub builds qa from the candidate's commits to see that it changes this workspace alone.
  expect(await ask('POST', 'qa/approvals', { statement })).toMatchObject({
    json: { outcome: 'appended', workspaces: ['sales'] },
  });
  expect(await ask('POST', 'qa/promotions', { candidate: digest, reason: 'tag 1.4' })).toMatchObject({
    status: 200,
    json: { outcome: 'promoted', from: 'dev', to: 'qa', candidate: digest },
  });

  // The cluster has what was promoted; the wait ends with its word.
  const released = async () => {
    const { channels } = (await ask('GET', 'qa/releases')).json as unknown as {
      channels: { releases: { bundles: string[] }[] }[];
    };
    return channels[0]?.releases[0]?.bundles[0];
  };
  await expect.poll(released, WAIT).toBeDefined();
  const bundle = await released();
  // The hub writes the tree, too: the cluster follows a folder of its own, and Flux names the commit that it applied.
  const git = async (...words: readonly string[]): Promise<string> =>
    (await runCommand(['git', '--git-dir', at('gitops.git'), ...words])).stdout.trim();
  const folderOf = () => git('show', 'qa:clusters/plant-7/edge/RELEASE');
  await expect.poll(folderOf, WAIT).toBe(`channel qa/press\nbundle ${bundle}`);
  expect(await git('show', 'qa:clusters/plant-7/edge/shop-web/platform-config.yaml')).not.toContain('base-9');
  // A value of its site is in the folder with the next round.
  await scheduler('sites set plant-7 gateway=10.9.9.9 --allow-unknown');
  const config = () => git('show', 'qa:clusters/plant-7/edge/shop-web/platform-config.yaml');
  await expect.poll(config, WAIT).toContain('"10.9.9.9"');
  const commit = await git('rev-parse', 'qa');
  const ended = ask('GET', `qa/arrival?candidate=${digest}&wait=50s`);
  const say = () =>
    ask(
      'POST',
      '/v1/followers/plant-7/edge/flux',
      {
        involvedObject: {
          kind: 'Kustomization',
          namespace: 'flux-system',
          name: 'tree',
          apiVersion: 'kustomize.toolkit.fluxcd.io/v1',
        },
        severity: 'info',
        timestamp: new Date().toISOString(),
        message: 'Reconciliation finished',
        reason: 'ReconciliationSucceeded',
        metadata: { revision: `qa@sha1:${commit}` },
      },
      String(plant),
    );
  await expect.poll(say, WAIT).toMatchObject({ status: 202, json: { result: 'taken' } });
  expect(await ended).toMatchObject({ status: 200, json: { environment: 'qa', state: 'complies' } });
  const { entries } = (await scheduler('audit list')) as unknown as {
    entries: { kind: string; predicate: { decision?: string; person: string } }[];
  };
  const decided = entries.filter(({ kind }) => kind !== 'change');
  expect(decided.map(({ kind, predicate }) => [predicate.decision ?? kind, predicate.person])).toEqual([
    ['submit', 'pipeline-7'],
    ['approval', 'ann'],
    ['promotion', 'pipeline-7'],
  ]);

  // The command line does the same beside the hub, from the layout or a file in any formatting.
  const end = { candidate: null, shared: null, environment: 'dev', person: 'ann', reason: 'over' };
  expect(await scheduler('submit dev --newest --person ann --reason over')).toEqual({
    ...end,
    outcome: 'submitted',
  });
  expect(await scheduler('submit dev --newest --person ann --reason over')).toEqual({
    ...end,
    outcome: 'known',
  });
  await writeFiles(folder.path, { 'candidate.json': JSON.stringify(candidate, null, 2) });
  expect(await scheduler('submit dev --candidate candidate.json --person ann --reason back')).toMatchObject({
    outcome: 'submitted',
    candidate: digest,
  });
  expect(await scheduler(`submit dev --candidate ${digest} --person bob --reason back`)).toMatchObject({
    outcome: 'known',
  });
  const skipped = `submit qa --candidate ${digest} --reason skip --json`;
  const refused = await runScheduler(folder.path, skipped.split(' '));
  expect(JSON.parse(refused.stdout)).toMatchObject({ error: { code: 'NOT_PROMOTED', subject: 'qa' } });
});
