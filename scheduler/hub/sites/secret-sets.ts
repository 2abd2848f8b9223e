import { compareBytes, type Digest } from '#bundles/digest';
import type { AgentRow, Database, SecretSetRow } from '../store/tables.ts';

/** A sealed set that was not removed. */
export type StoredSet = Omit<SecretSetRow, 'digest' | 'sealed' | 'recipients' | 'agents'> & {
  readonly digest: Digest;
  /** The age file. */
  readonly sealed: Buffer;
  readonly recipients: readonly string[];
  /** undefined: every agent of the site. */
  readonly agents: readonly string[] | undefined;
};

/** The sets of a site that were not removed, sorted by name. */
export const readSecretSets = async (db: Database, site: string): Promise<readonly StoredSet[]> => {
  const sets = await readSecretSetsOf(db, [site]);
  return sets.get(site) ?? [];
};

/** The same for several sites. A site without sets has no entry. */
export const readSecretSetsOf = async (
  db: Database,
  sites: readonly string[],
): Promise<ReadonlyMap<string, readonly StoredSet[]>> => {
  const rows = await db.selectFrom('secret_set').selectAll().where('site', 'in', sites).execute();
  const sorted = rows.flatMap(toStored).toSorted((a, b) => compareBytes(a.name, b.name));
  return Map.groupBy(sorted, ({ site }) => site);
};

const toStored = ({ digest, sealed, recipients, agents, ...row }: SecretSetRow): readonly StoredSet[] =>
  digest === null || sealed === null
    ? []
    : [
        {
          ...row,
          digest,
          sealed: Buffer.from(sealed, 'base64'),
          recipients: JSON.parse(recipients) as readonly string[],
          agents: agents === null ? undefined : (JSON.parse(agents) as readonly string[]),
        },
      ];

/** Names of the sets that are not sealed to the agent's current recipient. */
export const unreadableBy = (
  { recipient }: Pick<AgentRow, 'recipient'>,
  sets: readonly StoredSet[],
): readonly string[] =>
  sets
    .filter(({ recipients }) => recipient === null || !recipients.includes(recipient))
    .map(({ name }) => name);
