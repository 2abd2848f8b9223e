import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { digestOf } from '#bundles/digest';
import { MEDIUM_FILE } from '#bundles/formats/medium/medium';
import { openFiles } from '#bundles/formats/medium/open-files';
import { canonicalBytes } from '#bundles/json/canonical';
import type { Channel } from '#bundles/names';
import { formatTime } from '#bundles/time';
import { departureOf, recordDeparture } from '../../scheduler/hub/sites/medium/note-medium.ts';
import type { Store } from '../../scheduler/hub/store/open-store.ts';
import { FLEET } from './agents.ts';

type Leaving = {
  readonly path: string;
  readonly channel: Channel;
  readonly version: number;
  readonly sites: readonly string[];
  readonly at: Date;
};

/** A medium with the table of contents that fleet-export writes, and nothing else, is recorded and stays on its way. */
export const sendMedium = async (
  store: Store,
  { path, channel, version, sites, at }: Leaving,
): Promise<void> => {
  const of = (name: string) => ({ digest: digestOf(name), size: 1, mediaType: 'application/json' });
  const table = {
    format: 1,
    fleet: FLEET,
    createdAt: formatTime(at),
    documents: [
      { ...of('release'), role: 'release', ...channel, version },
      ...sites.map((site) => ({ ...of(site), role: 'site', site, version: 1 })),
    ],
    bundles: [],
    chunks: [],
    critical: [],
  };
  await mkdir(dirname(join(path, MEDIUM_FILE)), { recursive: true });
  await writeFile(join(path, MEDIUM_FILE), canonicalBytes(table));
  await using medium = await openFiles(path);
  await recordDeparture(store, await departureOf(medium, FLEET), at);
};
