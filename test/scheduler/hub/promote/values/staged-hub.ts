import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { digestOf } from '#bundles/digest';
import { valuesOfAgent } from '#bundles/formats/author-schema/judge-site-values';
import { readBundle } from '#bundles/formats/bundle/read-bundle';
import { openOrStartLayout } from '#bundles/formats/layout/layout';
import { openMedium } from '#bundles/formats/medium/open-medium';
import { parseChannel } from '#bundles/names';
import { formatTime } from '#bundles/time';
import { importReports } from '../../../../../scheduler/hub/ingest/reports/import-reports.ts';
import { enrollMedium } from '../../../../../scheduler/hub/sites/enroll/enroll-medium.ts';
import { readRequests } from '../../../../../scheduler/hub/sites/enroll/read-requests.ts';
import { bundlesOf, readRelease } from '../../../../../scheduler/load/releases/read-release.ts';
import { ours } from '../../../fleet-platform.ts';
import { NOW } from '../../../release/removals/office.ts';
import { config, LAYERS, type LayeredHub, layeredHub } from '../../sites/layers/layered-hub.ts';
import { ask, chain, type Happening, report, type TestAgent, testAgent } from '../../test-hub.ts';

export { NOW };
export const at = (minutes: number): Date => new Date(NOW.getTime() + minutes * 60_000);

export const POLICY = 'platform/promotion/prod-rings.yaml';
export const RINGS = `  stages:
    - {name: pilot, selector: {matchLabels: {ring: pilot}}, soak: 1h}
    - {name: all, percent: 100}
`;
export const policy = (more: string): string =>
  ours('RolloutPolicy', 'prod-rings', `spec:\n  environment: prod\n${more}`);

export const layer = (host: string): string =>
  config('all', `siteSelector: {}\n  values: {gatewayHost: ${host}, port: 80}`);

/** A hub whose environment has stages, with real agents' reports. */
export type StagedHub = LayeredHub & {
  readonly join: (id: string, labels?: Readonly<Record<string, string>>, now?: Date) => Promise<void>;
  /**
   * Agents import the newest release and statement of their site, and report: that their packages passed their checks, or failed; `accepted`: nothing
   * of packages, which they have yet to apply.
   */
  readonly runs: (
    now: Date,
    ids: readonly string[],
    outcome?: 'passed' | 'failed' | 'accepted',
  ) => Promise<void>;
  /** 'gatewayHost/port' of each agent. */
  readonly have: (name?: string) => Promise<Readonly<Record<string, unknown>>>;
};

type Known = { readonly agent: TestAgent; readonly happened: Happening[]; reported: number; media: number };

export const stagedHub = async (files: Readonly<Record<string, string>> = {}): Promise<StagedHub> => {
  const hub = await layeredHub({ [POLICY]: policy(RINGS), [LAYERS]: layer('old'), ...files });
  const known = new Map<string, Known>();
  const channel = parseChannel('prod/press');
  const { folder, keys, store } = hub;
  const fleet = keys.root.fleet;
  return {
    ...hub,
    join: async (id, labels = {}, now = NOW) => {
      const agent = testAgent(id);
      const stick = join(folder, `enrol-${id.replace('/', '-')}`);
      await mkdir(stick);
      await ask(stick, agent, { fleet, channel, labels, at: formatTime(now) });
      await using medium = await openMedium(stick);
      const accept = (await readRequests(medium, fleet, [])).map(({ fingerprint }) => ({ fingerprint }));
      await enrollMedium(hub, medium, { accept, replaceKey: false, update: false }, now);
      known.set(id, { agent, happened: [], reported: 0, media: 0 });
    },
    runs: async (now, ids, outcome = 'passed') => {
      const layout = await openOrStartLayout(hub.layout);
      const release = await readRelease(layout, channel, keys.roots);
      if (!release) throw new Error('nothing is released');
      for (const id of ids) {
        const one = known.get(id);
        if (!one) throw new Error(`${id} did not join`);
        const time = formatTime(now);
        one.happened.push({
          type: 'imported',
          release: { ...channel, version: release.predicate.version },
          at: time,
        });
        const { site_values: document } = await store.db
          .selectFrom('site')
          .select('site_values')
          .where('name', '=', one.agent.site)
          .executeTakeFirstOrThrow();
        for (const digest of outcome === 'accepted' ? [] : bundlesOf(release))
          for (const { id: assignment, package: own } of (await readBundle(layout.blobs, digest)).config
            .assignments) {
            const about = { assignment, package: own, siteValues: digestOf(document), at: time };
            one.happened.push(
              ...(outcome === 'failed'
                ? [
                    {
                      ...about,
                      type: 'package',
                      outcome: 'failed',
                      code: 'CHECK_FAILED',
                      message: 'no gateway',
                    } as const,
                  ]
                : [
                    { ...about, type: 'package', outcome: 'configured' } as const,
                    {
                      ...about,
                      type: 'check',
                      outcome: 'unchanged',
                      message: '1 of 1 checks passed, 0 skipped',
                    } as const,
                  ]),
            );
          }
        const stick = join(folder, `report-${id.replace('/', '-')}-${one.media++}`);
        await mkdir(stick);
        const lines = chain(one.agent, one.happened);
        const { version } = await hub.valuesOf(one.agent.site);
        const floors = { root: 1, site: version, release: release.predicate.version, lease: 0, time };
        await report(stick, one.agent, lines, one.reported + 1, lines.length, { fleet, time, floors });
        one.reported = lines.length;
        await using medium = await openMedium(stick);
        await importReports(hub, medium, now);
      }
    },
    have: async (name = 'gatewayHost') => {
      const all: [string, unknown][] = [];
      for (const { agent } of known.values()) {
        const document = await hub.valuesOf(agent.site);
        all.push([agent.id, valuesOfAgent(document, agent.name)[name] ?? null]);
      }
      return Object.fromEntries(all);
    },
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
};
