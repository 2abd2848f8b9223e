import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { digestOf } from '#bundles/digest';
import { MEDIUM_FILE } from '#bundles/formats/medium/medium';
import { openFiles } from '#bundles/formats/medium/open-files';
import { canonicalBytes } from '#bundles/json/canonical';
import { type Channel, formatChannel } from '#bundles/names';
import { formatTime } from '#bundles/time';
import { departureOf, recordDeparture } from '../../scheduler/hub/sites/medium/note-medium.ts';
import type { Store } from '../../scheduler/hub/store/open-store.ts';
import { FLEET } from './agents.ts';

export type Filling = {
  readonly releases: readonly (Channel & { readonly version: number })[];
  readonly sites: readonly string[];
  readonly at: Date;
};

/** Writes the table of contents that fleet-export writes. */
export const writeContents = async (path: string, { releases, sites, at }: Filling): Promise<void> => {
  const of = (name: string) => ({ digest: digestOf(name), size: 1, mediaType: 'application/json' });
  const table = {
    format: 1,
    fleet: FLEET,
    createdAt: formatTime(at),
    documents: [
      ...releases.map((release) => ({ ...of(formatChannel(release)), role: 'release', ...release })),
      ...sites.map((site) => ({ ...of(site), role: 'site', site, version: 1 })),
    ],
    bundles: [],
    chunks: [],
    critical: [],
  };
  await mkdir(dirname(join(path, MEDIUM_FILE)), { recursive: true });
  await writeFile(join(path, MEDIUM_FILE), canonicalBytes(table));
};

/** A medium with a table of contents and nothing else is recorded and stays on its way. */
export const sendMedium = async (store: Store, path: string, filling: Filling): Promise<void> => {
  await writeContents(path, filling);
  await using medium = await openFiles(path);
  await recordDeparture(store, await departureOf(medium, FLEET), filling.at);
};
