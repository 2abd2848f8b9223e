import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import Approve from '../../../scheduler/commands/gate/approve.ts';
import Explain from '../../../scheduler/commands/platform/explain.ts';
import Promote from '../../../scheduler/commands/gate/promote.ts';
import Wait from '../../../scheduler/commands/observe/wait.ts';
import { chainedOffice } from '../hub/promote/decide/chained-office.ts';
import { makeGitRepository } from '../../harness/neighbours/git-repository.ts';
import { runOrFail } from '../../harness/run/run-command.ts';
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

test('promote --explain reports a policy with more approvals than approvers, as promote does', async () => {
  const { office, flags } = await openOffice();
  await office.edit('platform/promotion/p.yaml', (text) => text.replace('required: 1', 'required: 9'));
  const refused = await runCommandClass(Promote, ['prod', ...flags]);
  const explained = await runCommandClass(Promote, ['prod', ...flags, '--explain']);
  expect(refused.err).toContain('FIELD_INVALID: PromotionPolicy qa-to-prod: it asks for 9 approvals');
  expect(explained.out).toContain('FIELD_INVALID: PromotionPolicy qa-to-prod: it asks for 9 approvals');
  const json = await runCommandClass(Promote, ['prod', ...flags, '--explain', '--json']);
  expect([json.code, json.json()]).toMatchObject([
    0,
    { state: 'waiting', problems: [{ error: { code: 'FIELD_INVALID' } }] },
  ]);
});

test('approve prints the gate with the new approval', async () => {
  const { at, flags } = await openOffice();
  const key = ['--key', at('keys/bundle.key')];
  const approved = await runCommandClass(Approve, ['--to', 'prod', ...key, '--person', 'ann', ...flags]);
  expect(approved.out).toMatch(/^prod: candidate sha256:[0-9a-f]{12} is approved by ann\n$/);
  expect(approved.err).toMatch(/^ {2}approvals +1 by ann/m);
  expect(approved.err).not.toMatch(/approvals +none/);
});

test('approve --workspace prints what it does not cover, and is refused for rollout stages', async () => {
  const { office, at, flags } = await openOffice();
  const key = ['--key', at('keys/bundle.key'), '--person', 'ann'];
  const approve = (...words: readonly string[]) => runCommandClass(Approve, [...words, ...key, ...flags]);
  const other = await approve('--to', 'prod', '--workspace', 'bakery');
  expect(other.err).toContain('ann: approves only bakery, and the candidate changes nothing of it');
  const own = await approve('--to', 'prod', '--workspace', 'sales', '--workspace', 'bakery');
  expect(own.out).toMatch(/is approved for sales, bakery by ann\n$/);
  expect(own.err).toMatch(/^ {2}approvals +1 by ann/m);
  expect((await office.entries()).map(({ predicate }) => predicate)).toMatchObject([
    { workspaces: ['bakery'], critical: ['approvalWorkspaces'] },
    { workspaces: ['bakery', 'sales'], critical: ['approvalWorkspaces'] },
  ]);
  for (const [words, why] of [
    [['prod/press', '--workspace', 'sales'], 'only promotions are approved for workspaces'],
    [
      ['--to', 'prod', '--stage', 'all', '--workspace', 'sales'],
      'a stage of a rollout is approved as a whole',
    ],
  ] as const) {
    const { code, err } = await approve(...words);
    expect([code, err]).toEqual([2, expect.stringContaining(why)]);
  }
});

test('explain of an environment without a promotion prints one line with the command that promotes', async () => {
  const { flags } = await openOffice();
  const nothing = await runCommandClass(Explain, [
    '--environment',
    'prod',
    ...flags.slice(0, 2),
    ...flags.slice(-2),
  ]);
  expect([nothing.code, nothing.out]).toEqual([
    0,
    'prod: no candidate was promoted from qa to prod yet. Promote with: fleet-scheduler promote prod.\n',
  ]);
});

test('the commands refuse an unknown environment, an empty person and a missing layout, by name', async () => {
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

test("promote --publish delivers the environment's tree to the configured tree", async () => {
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
