import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import Approve from '../../../scheduler/commands/approve.ts';
import Promote from '../../../scheduler/commands/promote.ts';
import Wait from '../../../scheduler/commands/wait.ts';
import { chainedOffice } from '../hub/decide/chained-office.ts';
import { makeGitRepository } from '../../harness/git-repository.ts';
import { runOrFail } from '../../harness/run-command.ts';
import { writeFiles } from '../file-tree.ts';
import { runCommandClass } from './run-command-class.ts';

const POLICY = `apiVersion: fleet-ferry/v1alpha1
kind: PromotionPolicy
metadata: {name: qa-to-prod}
spec: {from: qa, to: prod, approvals: {required: 1, notAuthor: false}}
`;

const openOffice = async () => {
  const office = await chainedOffice({ 'platform/promotion/p.yaml': POLICY });
  const at = (name: string): string => join(office.folder, name);
  const places = ['--platform', at('platform'), '--keys', at('keys'), '--now', '2026-11-23T09:00:00Z'];
  return { office, at, places, flags: [...places, '--layout', office.layout] };
};

test('promote with a closed gate prints its conditions as JSON beside the error', async () => {
  const { flags } = await openOffice();
  const closed = await runCommandClass(Promote, ['prod', ...flags, '--json']);
  const explained = await runCommandClass(Promote, ['prod', ...flags, '--explain', '--json']);
  const { error, ...verdict } = closed.json() as { error: { code: string } };
  expect([closed.code, error.code]).toEqual([8, 'GATE_CLOSED']);
  expect(verdict).toEqual(explained.json());
  expect(verdict).toMatchObject({
    state: 'waiting',
    conditions: expect.arrayContaining([expect.objectContaining({ name: 'approvals', met: false })]),
  });
});

test('verbs name what is wrong with an environment, a person and a layout', async () => {
  const { at, places, flags } = await openOffice();
  const nope = await runCommandClass(Wait, ['prd', ...flags]);
  expect([nope.code, nope.err]).toEqual([
    2,
    'fleet-scheduler: USAGE: the fleet has no environment prd. Did you mean prod? It has qa, prod.\n',
  ]);
  const key = ['--key', at('keys/bundle.key')];
  const nobody = await runCommandClass(Approve, ['--to', 'prod', ...key, '--person', ' ', ...flags]);
  expect([nobody.code, nobody.err]).toEqual([
    2,
    expect.stringContaining('USAGE: the name of a person has 1 to 256 characters'),
  ]);
  const nowhere = await runCommandClass(Promote, ['prod', ...places, '--layout', at('nolayout')]);
  expect([nowhere.code, nowhere.err]).toEqual([
    5,
    expect.stringMatching(/MEDIUM_MISSING: .*nolayout is not an OCI layout/),
  ]);
});

test('promote --publish delivers the tree of the environment to the tree of the configuration', async () => {
  const office = await chainedOffice({});
  const at = (name: string): string => join(office.folder, name);
  await writeFiles(at('start'), { 'README.md': 'by hand\n' });
  await makeGitRepository(at('tree.git'), { prod: at('start') });
  await writeFile(
    at('scheduler.yaml'),
    `tree: git+file://${at('tree.git')}\ncommitter: Bot <bot@example.com>\n`,
  );
  const places = ['--platform', at('platform'), '--keys', at('keys'), '--cache', at('cache')];
  const flags = [...places, '--layout', office.layout, '--now', '2026-11-23T09:00:00Z'];
  const nowhere = await runCommandClass(Promote, ['prod', ...flags, '--publish']);
  expect([nowhere.code, nowhere.err]).toEqual([2, expect.stringContaining('--tree')]);
  const foreign = await runCommandClass(Promote, ['prod', ...flags, '--from', 'qa']);
  expect([foreign.code, foreign.err]).toEqual([
    2,
    expect.stringContaining('--from is for a control plane in Kalypso'),
  ]);
  const done = await runCommandClass(Promote, [
    'prod',
    ...flags,
    '--publish',
    '--config',
    at('scheduler.yaml'),
  ]);
  expect(done.err).not.toContain('fleet-scheduler:');
  const log = ['git', '--git-dir', at('tree.git'), 'log', '-1', '--format=%cn %B', 'prod'];
  const { stdout } = await runOrFail(log);
  expect(stdout).toMatch(/^Bot Update the manifests of prod\n\nPromotion 1 from qa to prod/);
});
