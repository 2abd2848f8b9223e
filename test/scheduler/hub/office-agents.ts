import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Digest } from '#bundles/digest';
import { openMedium } from '#bundles/formats/medium/open-medium';
import { openOrStartLayout } from '#bundles/formats/layout/layout';
import { readBundle } from '#bundles/formats/bundle/read-bundle';
import type { Channel } from '#bundles/names';
import { formatTime } from '#bundles/time';
import { enrollMedium } from '../../../scheduler/hub/sites/enroll/enroll-medium.ts';
import { readRequests } from '../../../scheduler/hub/sites/enroll/read-requests.ts';
import { readPackages } from '../../../scheduler/hub/questions/history/read-releases.ts';
import type { Hub } from '../../../scheduler/hub/hub.ts';
import { importReports } from '../../../scheduler/hub/ingest/reports/import-reports.ts';
import { openStore } from '../../../scheduler/hub/store/open-store.ts';
import { readRelease } from '../../../scheduler/load/releases/read-release.ts';
import { NOW, type ChainOffice } from '../release/chain/chain-office.ts';
import { dropDatabase, hubDatabaseAt } from './test-database.ts';
import { ask, chain, type Happening, report, type TestAgent, testAgent } from './test-hub.ts';

/** A hub over the layout of an office that really builds. */
export const hubOf = async (office: Pick<ChainOffice, 'folder' | 'keys' | 'layout'>): Promise<Hub> => {
  const db = await hubDatabaseAt(join(office.folder, 'hub.db'), 'halden');
  const store = await openStore(db, 'halden');
  const { keys, layout } = office;
  return {
    keys,
    layout,
    store,
    [Symbol.asyncDispose]: async () => {
      await store[Symbol.asyncDispose]();
      await dropDatabase(db);
    },
  };
};

/** An agent, what happened to it so far, and how much of that a report has. */
export type OfficeAgent = {
  readonly agent: TestAgent;
  readonly channel: Channel;
  readonly happened: Happening[];
  reported: number;
  /** Each report on a medium of its own. */
  readonly media: string[];
};

export const enrolAgent = async (
  { folder }: Pick<ChainOffice, 'folder'>,
  hub: Hub,
  id: string,
  {
    channel,
    labels = {},
    now = NOW,
  }: {
    readonly channel: Channel;
    readonly labels?: Readonly<Record<string, string>>;
    readonly now?: Date;
  },
): Promise<OfficeAgent> => {
  const agent = testAgent(id);
  const stick = join(folder, `enrol-${agent.site}`);
  await mkdir(stick);
  await ask(stick, agent, { fleet: 'halden', channel, labels, at: formatTime(now) });
  await using medium = await openMedium(stick);
  const accept = (await readRequests(medium, 'halden', [])).map(({ fingerprint }) => ({ fingerprint }));
  await enrollMedium(hub, medium, { accept, replaceKey: false, update: false }, now);
  return { agent, channel, happened: [], reported: 0, media: [] };
};

/** What a channel's current release has; undefined without one. */
export const currentOf = async (
  { keys, layout: directory }: Pick<Hub, 'keys' | 'layout'>,
  channel: Channel,
) => {
  const layout = await openOrStartLayout(directory);
  const release = await readRelease(layout, channel, keys.roots);
  const bundle = release?.subjects.get('bundle/kubernetes');
  if (!release || !bundle) return undefined;
  const texts = [...(await readPackages(layout, bundle)).values()].flatMap((files) => [...files.values()]);
  const { config } = await readBundle(layout.blobs, bundle);
  return {
    number: release.predicate.version,
    rollout: release.predicate.rollout,
    packages: config.assignments.map((one): readonly [string, Digest] => [one.id, one.package]),
    has: (text: string): boolean => texts.some((bytes) => bytes.includes(text)),
  };
};

/** The agent imports the current release and applies its packages: each fails if the release has the text `broken`, or passes its check. */
export const runRelease = async (
  hub: Pick<Hub, 'keys' | 'layout'>,
  { channel, happened }: OfficeAgent,
  now: Date,
  broken: string,
): Promise<void> => {
  const found = await currentOf(hub, channel);
  if (!found) return;
  const at = formatTime(now);
  happened.push({ type: 'imported', release: { ...channel, version: found.number }, at });
  for (const [assignment, digest] of found.packages) {
    const about = { assignment, package: digest, at };
    if (found.has(broken))
      happened.push({
        ...about,
        type: 'package',
        outcome: 'failed',
        code: 'CHECK_FAILED',
        message: 'port 80 is closed',
      });
    else
      happened.push(
        { ...about, type: 'package', outcome: 'configured' },
        { ...about, type: 'check', outcome: 'unchanged', message: '1 of 1 checks passed, 0 skipped' },
      );
  }
};

/** Its report comes home on a medium. */
export const bringHome = async (
  { folder }: Pick<ChainOffice, 'folder'>,
  hub: Hub,
  one: OfficeAgent,
  now: Date,
): Promise<void> => {
  if (one.happened.length === one.reported) return;
  const stick = join(folder, `${one.agent.site}-${one.media.length}`);
  await mkdir(stick);
  const lines = chain(one.agent, one.happened);
  const said = { fleet: 'halden', time: formatTime(now) };
  await report(stick, one.agent, lines, one.reported + 1, lines.length, said);
  one.reported = lines.length;
  one.media.push(stick);
  await using medium = await openMedium(stick);
  await importReports(hub, medium, now);
};
