import { expect, test } from 'vitest';
import { DAY_MS, formatTime } from '#bundles/time';
import type { Visible } from '../../../../../scheduler/hub/people/visible.ts';
import { answerOverview } from '../../../../../scheduler/hub/questions/answers/answer-overview.ts';
import type { Cause } from '../../../../../scheduler/hub/questions/status/group-causes.ts';
import { listSites } from '../../../../../scheduler/hub/questions/status/list-sites.ts';
import { createToken } from '../../../../../scheduler/hub/sites/tokens/create-token.ts';
import { applied, days, PROD } from '../history/shop-hub.ts';
import { shopFleet } from '../status/shop-fleet.ts';
import { chain, enrolled, NOW, report, type TestHub } from '../../test-hub.ts';

type Filter = { readonly environment?: string; readonly visible?: Visible };

const FILTERS: readonly Filter[] = [
  {},
  { environment: 'prod' },
  { visible: { whole: new Set(['qa']), parts: new Map() } },
  { visible: { whole: new Set(['qa']), parts: new Map([['prod', new Set(['web'])]]) } },
  { visible: { whole: new Set(), parts: new Map([['prod', new Set(['nothing'])]]) } },
];

test('every site has the states of the list of sites, for any filter', async () => {
  await using hub = await shopFleet();
  for (const filter of FILTERS) {
    const { sites, judged, places } = await answerOverview(hub, filter, NOW);
    const listed = await listSites(hub, filter, { limit: 100 }, NOW);
    expect(
      sites.name.map((site, at) => ({
        site,
        channels: places[sites.place[at] ?? -1]?.channels,
        states: judged[sites.judged[at] ?? -1]?.states,
        saidAt: sites.saidAt[at] ?? null,
      })),
      JSON.stringify(filter),
    ).toEqual(
      listed.sites.map(({ site, channels, states, saidAt }) => ({
        site,
        channels,
        states,
        saidAt: saidAt === null ? null : Date.parse(saidAt) / 1000,
      })),
    );
  }
});

const shortOf = (names: readonly string[], causes: readonly Cause[]) =>
  causes.map(({ kind, code, check, assignment, channel, sites }) =>
    [
      [kind, code, check, assignment, channel].filter((part) => part !== null).join(' '),
      sites.map((at) => names[at]),
    ].flat(),
  );

/** One more agent whose package failed checks, at a time of its own. */
const failsChecks = async (
  hub: TestHub & { readonly first: Parameters<typeof applied>[1] },
  name: string,
  ago: number,
  checks: readonly string[],
): Promise<void> => {
  const agent = await enrolled(hub, name, PROD);
  const failed = checks.map((check) => ({ name: check, outcome: 'failed', message: `${check} is not met` }));
  const at = formatTime(days(-ago));
  const lines = chain(agent, [
    { ...applied('web', hub.first, days(-ago)), at },
    {
      type: 'check',
      assignment: 'web',
      outcome: 'failed',
      code: 'CHECK_FAILED',
      at,
      message: 'checks failed',
      detail: { checks: failed },
    },
  ]);
  const stick = await hub.stick(name.replace('/', '-'));
  await report(stick, agent, lines);
  await hub.importFrom(stick, days(-ago));
};

test('one cause at many sites is one entry, the worst first', async () => {
  await using hub = await shopFleet();
  await failsChecks(hub, 'dock-1/crane', 0.5, ['every-program-has-a-limit']);
  await failsChecks(hub, 'dock-2/crane', 1.5, ['every-program-has-a-limit', 'door-is-shut']);
  const { sites, causes } = await answerOverview(hub, {}, NOW);
  expect(shortOf(sites.name, causes)).toEqual([
    ['failed CHECK_FAILED every-program-has-a-limit', 'dock-1', 'dock-2'],
    ['failed CHECK_FAILED door-is-shut', 'dock-2'],
    ['failed CHECK_FAILED web', 'ship'],
    ['stale', 'yard'],
    ['missing qa/kiosk', 'lab', 'ship'],
    ['never reported', 'zoo'],
    ['behind prod/kiosk', 'ship', 'ship-2'],
    ['late', 'ship-2'],
  ]);
  const [first] = causes;
  expect(first).toMatchObject({
    message: 'every-program-has-a-limit is not met',
    agents: 2,
    assignments: 2,
    since: formatTime(days(-1.5)),
    newest: formatTime(days(-0.5)),
    recent: 1,
    examples: [
      { site: 'dock-1', agent: 'crane', assignment: 'web' },
      { site: 'dock-2', agent: 'crane', assignment: 'web' },
    ],
  });
});

test('H63: one site with many failed checks does not displace the causes at several sites -> ACCEPT', async () => {
  await using hub = await shopFleet();
  const before = await answerOverview(hub, {}, NOW);
  const checks = (from: string) => Array.from({ length: 50 }, (_, at) => `${from}-${at}`);
  for (const name of ['crane', 'gate', 'lift']) await failsChecks(hub, `dock-1/${name}`, 0.5, checks(name));
  const { sites, causes } = await answerOverview(hub, {}, NOW);
  expect(causes).toHaveLength(100);
  const atMany = shortOf(
    before.sites.name,
    before.causes.filter((one) => one.sites.length > 1),
  ).map(String);
  const kept = shortOf(sites.name, causes).map(String);
  expect(atMany.length).toBeGreaterThan(0);
  expect(atMany.every((one) => kept.includes(one)) ? 'ACCEPT' : kept).toBe('ACCEPT');
});

test('what waits for a person is counted, and only for readers of everything what waits at the hub itself', async () => {
  await using hub = await shopFleet();
  const terms = { note: undefined, expires: days(1), now: NOW };
  await createToken(hub.store, { scope: 'enroll', site: 'new', replaceKey: false }, terms);
  await createToken(
    hub.store,
    { scope: 'enroll', site: 'old', replaceKey: false },
    { note: undefined, expires: days(-1), now: days(-2) },
  );
  const all = await answerOverview(hub, {}, NOW);
  expect(all.waits).toMatchObject({ values: 0, enrolments: 1, releases: [], held: 0 });
  const { waits } = await answerOverview(
    hub,
    { visible: { whole: new Set(['prod']), parts: new Map() } },
    NOW,
  );
  expect(waits).toMatchObject({ values: null, enrolments: null });
});

test('packages that changed since yesterday are counted by environment', async () => {
  await using hub = await shopFleet();
  const { changed } = await answerOverview(hub, {}, new Date(NOW.getTime() - DAY_MS + 1000));
  expect(changed.environments).toContainEqual({ environment: 'prod', packages: 1, sites: 1 });
  const later = await answerOverview(hub, {}, days(60));
  expect(later.changed.environments).toEqual([]);
});

test('sites that are alike share their entries', async () => {
  await using hub = await shopFleet();
  const before = await answerOverview(hub, {}, NOW);
  for (const name of ['zoo-2/gate', 'zoo-3/gate']) await enrolled(hub, name, PROD);
  const { sites, judged, places } = await answerOverview(hub, {}, NOW);
  expect(sites.name.length).toBe(before.sites.name.length + 2);
  expect([judged.length, places.length]).toEqual([before.judged.length, before.places.length]);
});
