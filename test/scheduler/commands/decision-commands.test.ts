import { join } from 'node:path';
import { expect, test } from 'vitest';
import Approve from '../../../scheduler/commands/approve.ts';
import Promote from '../../../scheduler/commands/promote.ts';
import Wait from '../../../scheduler/commands/wait.ts';
import { chainedOffice } from '../hub/decide/chained-office.ts';
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
