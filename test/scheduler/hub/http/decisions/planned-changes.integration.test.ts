import { expect, test } from 'vitest';
import { ours } from '../../../fleet-platform.ts';
import { NOW, target, workload } from '../../../release/removals/office.ts';
import { changeShared } from '../../promote/decide/chained-office.ts';
import { type Caller, type DecisionServer, decisionServer } from './decision-server.ts';

const after = (minutes: number): Date => new Date(NOW.getTime() + minutes * 60_000);

const both = (name: string, runs: string): readonly string[] =>
  ['qa', 'prod'].map((environment) => target(name, environment, runs));

/** Scales belong to another workspace than labels, and everything is in both environments. */
const FILES = {
  'apps/scale/deploy/workload.yaml': workload('scale', ...both('host', 'host'), ...both('till', 'till')),
  'apps/info/deploy/workload.yaml': workload('info', ...both('screen', 'screen')),
  'platform/base/scale.yaml': ours(
    'WorkloadRegistration',
    'scale',
    'spec:\n  workspace: weighing\n  workload: {repo: ../apps/scale, path: deploy}\n',
  ),
};

type Listed = {
  readonly clusterType: string;
  readonly assignment: string;
  readonly outcome: string;
  readonly before: unknown;
  readonly after: unknown;
  readonly objects: readonly { readonly diff: string }[];
};

const namesOf = (json: Record<string, unknown>): readonly string[] =>
  (json['packages'] as readonly Listed[]).map(
    ({ clusterType, assignment, outcome }) => `${clusterType}/${assignment} ${outcome}`,
  );

const diffsOf = (json: Record<string, unknown>): string =>
  (json['packages'] as readonly Listed[])
    .flatMap(({ objects }) => objects.map(({ diff }) => diff))
    .join('\n');

const promoteAll = async (made: DecisionServer, whole: Caller, minutes: number): Promise<void> => {
  expect((await whole.post('prod/promotions', {})).status).toBe(200);
  await made.office.build({ now: after(minutes) });
};

test('a candidate is listed with each package that its promotion would add, change or remove, and with the lines', async () => {
  await using made = await decisionServer({}, FILES);
  const whole = await made.caller('promote:prod', 'read:prod');
  const first = (await whole.get('prod/changes')).json;
  expect(first).toMatchObject({ environment: 'prod', known: true, why: null, more: 0, hidden: 0 });
  expect(namesOf(first)).toEqual([
    'press/info-screen added',
    'press/labels-host added',
    'press/scale-host added',
    'till/scale-till added',
  ]);
  await promoteAll(made, whole, 1);
  expect(namesOf((await whole.get('prod/changes')).json)).toEqual([]);

  await made.office.edit('apps/scale/deploy/workload.yaml', () => workload('scale', ...both('host', 'host')));
  await changeShared(made.office, after(2));
  const second = (await whole.get('prod/changes')).json;
  expect(namesOf(second)).toEqual(['press/labels-host configuration', 'till/scale-till removed']);
  expect(diffsOf(second)).toMatch(/-.*\/opt\/labels"?\n.*\+.*\/opt\/labels\/two/);
  expect(second['packages']).toMatchObject([
    { workload: 'labels', compared: true, moreObjects: 0 },
    { workload: 'scale', after: null, objects: [{ outcome: 'deleted' }] },
  ]);
  expect(second['candidate']).toBe((await whole.get('prod/gate')).json['candidate']);
  expect(second['channels']).toMatchObject([{ channel: 'prod/press' }, { channel: 'prod/till' }]);

  // Nothing was signed or written.
  expect((await whole.get('prod/promotions')).json['promotions']).toHaveLength(1);
});

test('a caller of one workspace sees its packages alone', async () => {
  await using made = await decisionServer({}, FILES);
  const whole = await made.caller('promote:prod', 'read:prod');
  await promoteAll(made, whole, 1);
  await made.office.edit('apps/scale/host/package.yaml', (text) =>
    text.replace('/opt/scale', '/opt/scale/two'),
  );
  await changeShared(made.office, after(2));
  const all = (await whole.get('prod/changes')).json;
  expect(all).toMatchObject({ known: true, why: null });
  expect(namesOf(all)).toHaveLength(3);
  const seller = await made.caller('read:prod/sales', 'approve:prod/sales');
  const seen = (await seller.get('prod/changes')).json;
  expect(namesOf(seen)).toEqual(['press/labels-host configuration']);
  expect(seen['hidden']).toBe(2);
  expect(JSON.stringify(seen)).not.toMatch(/scale/);
});

test('a candidate that cannot be built any more is answered with the reason', async () => {
  await using made = await decisionServer({}, FILES);
  const whole = await made.caller('promote:prod', 'read:prod');
  const { candidate } = (await whole.get('prod/gate')).json as { readonly candidate: string };
  // Folders have no commits: what the candidate names is gone.
  await made.office.edit('apps/labels/host/package.yaml', (text) => text.replace('/opt/labels', '/opt/l'));
  await made.office.build({ environments: ['qa'], now: after(1) });
  const answer = (await whole.get(`prod/changes?candidate=${candidate}`)).json;
  expect(answer).toMatchObject({ known: false, packages: [], candidate });
  expect(answer['why']).toMatch(/^CANDIDATE_MISMATCH: /);
});

test('two releases of a channel are compared, in both directions', async () => {
  await using made = await decisionServer({}, FILES);
  await changeShared(made.office, after(1));
  const reader = await made.reader();
  const back = (await reader.get('qa/releases/press/changes?release=1')).json;
  expect(back).toMatchObject({ candidate: null, known: true });
  expect(namesOf(back)).toEqual(['press/labels-host configuration']);
  expect(diffsOf(back)).toMatch(/-.*\/opt\/labels\/two"?\n.*\+.*\/opt\/labels/);
  const forth = (await reader.get('qa/releases/press/changes?from=1&release=2')).json;
  expect(diffsOf(forth)).toMatch(/-.*\/opt\/labels"?\n.*\+.*\/opt\/labels\/two/);
  expect(namesOf((await reader.get('qa/releases/press/changes?release=1&only=info-screen')).json)).toEqual(
    [],
  );
  for (const [query, code] of [
    ['', 'USAGE'],
    ['release=x', 'USAGE'],
    ['release=0', 'USAGE'],
    ['release=9', 'RELEASE_MISSING'],
    ['release=1&from=9', 'RELEASE_MISSING'],
    ['release=1&only=..%2F', 'NAME_INVALID'],
    ['release=1&more=1', 'USAGE'],
  ])
    expect(await reader.get(`qa/releases/press/changes?${query}`), query).toMatchObject({ code });
});
