import { expect, test } from 'vitest';
import { shown } from '../../../harness/run/shown.ts';
import {
  type ExplainedEnvironment,
  explainEnvironment,
} from '../../../../scheduler/views/explain/explain-environment.ts';
import { formatPromotion } from '../../../../scheduler/views/explain/format-explanation.ts';
import {
  type ChainOffice,
  FILES,
  openBuiltOffice,
  openChainOffice,
} from '../../release/chain/chain-office.ts';
import { ours } from '../../fleet-platform.ts';

const { signal } = new AbortController();

const explain = ({ platform, layout }: ChainOffice, environment: string): Promise<ExplainedEnvironment> =>
  explainEnvironment({ ...platform, layout, signal }, environment, {});

const valuesOf = (explained: ExplainedEnvironment): unknown =>
  explained.kind === 'explained'
    ? explained.pairs.map(({ values }) => values.map(({ path, value }) => [path.join('.'), value]))
    : explained.why.message;

const movedOn = async (): Promise<ChainOffice> => {
  const office = await openBuiltOffice();
  await office.promote('dev', 'qa', { reason: 'spring' });
  office.config('base/level.yaml', 'base-1');
  office.commit({ 'environments/qa/own.yaml': ours('Config', 'own', 'spec:\n  values: {OWN: "qa-1"}\n') });
  return office;
};

test('a chained environment is explained from the promoted candidate with its own newest layer', async () => {
  const office = await movedOn();
  const explained = await explain(office, 'qa');
  expect(valuesOf(explained)).toEqual([
    [
      ['LEVEL', 'base-0'],
      ['OWN', 'qa-1'],
    ],
  ]);
  if (explained.kind !== 'explained' || !explained.promotion) throw new Error('it has a promotion');
  const { digest } = await office.candidateOf('dev');
  expect(explained.promotion).toMatchObject({
    from: 'dev',
    number: 1,
    candidate: digest,
    person: 'ada',
    reason: 'spring',
    time: '2026-11-23T08:00:00Z',
  });
  expect(explained.promotion.sources.filter(({ by }) => by === 'direct').map(({ role }) => role)).toEqual([
    'environment/qa',
  ]);
  const [head, ...lines] = shown(formatPromotion('qa', explained.promotion));
  expect(head).toBe(
    `qa is built from candidate ${digest?.slice(0, 19)}: promotion 1 from dev, by ada at 2026-11-23T08:00:00Z: spring`,
  );
  expect(lines).toContainEqual(
    expect.stringMatching(/^ {2}direct +environment\/qa +environments\/qa +commit [0-9a-f]{12}$/),
  );
  expect(lines).toContainEqual(expect.stringMatching(/^ {2}promoted +platform +\. +commit [0-9a-f]{12}$/));
});

test('the first environment, and a chained one without a layout, are explained from the newest state', async () => {
  const office = await movedOn();
  const [first, unknown] = [
    await explain(office, 'dev'),
    await explainEnvironment({ ...office.platform, signal }, 'qa', {}),
  ];
  expect(first).toMatchObject({ kind: 'explained', promotion: undefined });
  expect(unknown).toMatchObject({ kind: 'explained', promotion: undefined });
  expect([first, unknown].map(valuesOf)).toEqual([
    [
      [
        ['LEVEL', 'base-1'],
        ['OWN', 'dev-0'],
      ],
    ],
    [
      [
        ['LEVEL', 'base-1'],
        ['OWN', 'qa-1'],
      ],
    ],
  ]);
});

test('an environment without a promotion is reported as waiting, with the command that promotes', async () => {
  const office = await openBuiltOffice();
  expect(await explain(office, 'qa')).toMatchObject({
    kind: 'waiting',
    why: {
      code: 'NOT_PROMOTED',
      message: 'no candidate was promoted from dev to qa yet',
      hint: 'Promote with: fleet-scheduler promote qa',
    },
  });
});

test('a platform without a chain is explained from its files, even with a layout', async () => {
  const free = 'spec:\n  environments:\n    - {name: dev}\n    - {name: qa}\n    - {name: prod}\n';
  const office = await openChainOffice({ ...FILES, 'fleet.yaml': ours('Fleet', 'halden', free) });
  expect(await explain(office, 'qa')).toEqual(
    await explainEnvironment({ ...office.platform, signal }, 'qa', {}),
  );
});
