import { randomUUID } from 'node:crypto';
import { compareBytes } from '../../digest.ts';
import type { Timestamp } from '../../time.ts';
import { type Medium, VOLUME_FILE } from './medium.ts';
import { readOptional } from './plain-files.ts';
import { writeFileOntoMedium } from './write-onto-medium.ts';

/** Names of a kind that are kept of one medium. */
const MAX_NAMES = 1000;

/** Table of contents of a medium: when it was filled, its releases ('prod/press r3'), and the sites that it has statements for. */
export type MediumContents = {
  readonly createdAt: Timestamp;
  readonly releases: readonly string[];
  readonly sites: readonly string[];
};

/** A filled medium that leaves the office. */
export type Departure = MediumContents & {
  readonly fleet: string;
  /** Names of the volumes that it is on; none for a tar file, of which there may be copies. */
  readonly volumes: readonly string[];
};

export const contentsOf = ({
  createdAt,
  documents,
}: Pick<Medium, 'createdAt' | 'documents'>): MediumContents => {
  const releases = documents.flatMap(({ role, environment, clusterType, version }) =>
    role === 'release' && environment !== undefined && clusterType !== undefined && version !== undefined
      ? [`${environment}/${clusterType} r${version}`]
      : [],
  );
  const sites = documents.flatMap(({ role, site }) => (role === 'site' && site !== undefined ? [site] : []));
  return { createdAt, releases: namesOf(releases), sites: namesOf(sites) };
};

const namesOf = (names: readonly string[]): readonly string[] =>
  [...new Set(names)].toSorted(compareBytes).slice(0, MAX_NAMES);

const VOLUME = /^[0-9a-f]{32}$/;

/**
 * The names of volumes, in their order. A volume gets a random one when it is first asked for, and keeps it when it is filled again. A
 * volume that cannot be written, or has another file in that place, has none.
 */
export const nameVolumes = async (roots: readonly string[]): Promise<readonly string[]> => {
  const names = await Promise.all(roots.map((root) => nameOf(root).catch(() => undefined)));
  return names.filter((name) => name !== undefined);
};

/** The names that volumes have, in their order; a volume without one is left out. Writes nothing. */
export const readVolumes = async (roots: readonly string[]): Promise<readonly string[]> => {
  const names = await Promise.all(roots.map((root) => readName(root).catch(() => undefined)));
  return names.filter((name) => name !== undefined && VOLUME.test(name)) as readonly string[];
};

const readName = async (root: string): Promise<string | undefined> =>
  (await readOptional(root, VOLUME_FILE, 64))?.toString().trim();

const nameOf = async (root: string): Promise<string | undefined> => {
  const known = await readName(root);
  if (known !== undefined) return VOLUME.test(known) ? known : undefined;
  const name = randomUUID().replaceAll('-', '');
  await writeFileOntoMedium(root, VOLUME_FILE, Buffer.from(`${name}\n`));
  return name;
};
