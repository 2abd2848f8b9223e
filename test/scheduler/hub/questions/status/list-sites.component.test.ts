import { expect, test } from 'vitest';
import { ageMarks } from '../../../../../scheduler/hub/questions/status/attention.ts';
import { listSites, type SiteSummary } from '../../../../../scheduler/hub/questions/status/list-sites.ts';
import { readStatus } from '../../../../../scheduler/hub/questions/status/read-status.ts';
import type { Row } from '../../../../../scheduler/hub/questions/state/what-runs-where.ts';
import type { Visible } from '../../../../../scheduler/hub/people/visible.ts';
import { NOW, type TestHub } from '../../test-hub.ts';
import { shopFleet } from './shop-fleet.ts';

type Filter = { readonly environment?: string; readonly site?: string; readonly visible?: Visible };

const list = (hub: TestHub, filter: Filter = {}, limit = 100, cursor?: string) =>
  listSites(hub, filter, { limit, cursor }, NOW);

/** The rows of the status of a site, counted as the summary counts them. */
const summaries = async (hub: TestHub, filter: Filter): Promise<readonly SiteSummary[]> => {
  const { rows } = (await readStatus(hub, filter, NOW)).json as { readonly rows: readonly Row[] };
  const alike = (row: Row): string => [row.verdict, row.silent, row.stopped, row.freshness].join(' ');
  return [...Map.groupBy(rows, ({ site }) => site)].map(([site, of]) => ({
    site,
    agents: new Set(of.map(({ agent }) => agent)).size,
    assignments: of.filter(({ assignment }) => assignment !== null).length,
    channels: [
      ...new Set(of.map(({ channel }) => `${channel.environment}/${channel.clusterType}`)),
    ].toSorted(),
    saidAt: of.flatMap(({ saidAt }) => saidAt ?? []).toSorted()[0] ?? null,
    reboots: new Set(of.flatMap(({ agent, reboot }) => (reboot ? [agent] : []))).size,
    states: [...Map.groupBy(of, alike).values()]
      .flatMap((group) => {
        const [first] = group;
        if (first === undefined) return [];
        const { verdict, silent, stopped, freshness } = first;
        return [{ verdict, silent, stopped, freshness, count: group.length }];
      })
      .toSorted((a, b) => b.count - a.count || (a.verdict < b.verdict ? -1 : 1)),
  }));
};

test('a site has one entry with the counts of its status rows, for any filter', async () => {
  await using hub = await shopFleet();
  const filters: readonly Filter[] = [
    {},
    { environment: 'prod' },
    { site: 'ship' },
    { visible: { whole: new Set(['qa']), parts: new Map() } },
    { visible: { whole: new Set(['qa']), parts: new Map([['prod', new Set(['web'])]]) } },
    { visible: { whole: new Set(), parts: new Map([['prod', new Set(['nothing'])]]) } },
  ];
  for (const filter of filters)
    expect((await list(hub, filter)).sites, JSON.stringify(filter)).toEqual(await summaries(hub, filter));
  const { sites } = await list(hub);
  const words = sites.map(({ site, states }) => [
    site,
    states.map((state) => [state.count, state.verdict, ...ageMarks(state)].join(' ')),
  ]);
  expect(Object.fromEntries(words)).toEqual({
    lab: ['1 complies', '1 missing'],
    'plant-7': ['1 complies'],
    ship: ['1 behind', '1 failed', '1 missing'],
    'ship-2': ['1 behind late'],
    yard: ['1 stale'],
    zoo: ['1 never reported'],
  });
});

test('sites come in pages, each site complete and once', async () => {
  await using hub = await shopFleet();
  const { sites: all } = await list(hub);
  for (const limit of [1, 2, 3]) {
    const seen: SiteSummary[] = [];
    let cursor: string | undefined;
    do {
      const { sites, next } = await list(hub, {}, limit, cursor);
      expect(sites.length).toBeLessThanOrEqual(limit);
      seen.push(...sites);
      cursor = next ?? undefined;
    } while (cursor !== undefined);
    expect(seen).toEqual(all);
  }
  await expect(list(hub, {}, 1, 'nonsense')).rejects.toThrow('the cursor');
});
