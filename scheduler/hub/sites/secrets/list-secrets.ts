import { compareBytes } from '#bundles/digest';
import { readSecretSets, type StoredSet } from '../secret-sets.ts';
import type { AgentRow, Database } from '../../store/tables.ts';
import { siteAgents } from './readers.ts';

export type ListedSet = {
  readonly site: string;
  readonly name: string;
  readonly version: number;
  readonly digest: string;
  /** Size of the sealed file. */
  readonly bytes: number;
  readonly sealedAt: string;
  /** Agents of the site that can open it. */
  readonly readers: readonly string[];
  /** Agents that it is meant for and that cannot open it, because they were enrolled, or enrolled again, after it was sealed. */
  readonly locked: readonly string[];
  /** Recipients that belong to neither a current agent nor the escrow: agents revoked since, or with a new identity. */
  readonly former: readonly string[];
  /** Whether it is sealed to the escrow; null if no escrow is configured. */
  readonly escrow: boolean | null;
};

/** The sealed sets of a site, or of all sites, with their readers. @throws FleetError SITE_MISSING */
export const listSecrets = async (
  db: Database,
  site: string | undefined,
  escrow: string | undefined,
): Promise<readonly ListedSet[]> => {
  const sites =
    site === undefined
      ? (await db.selectFrom('site').select('name').execute()).map(({ name }) => name).toSorted(compareBytes)
      : [site];
  const found: ListedSet[] = [];
  for (const one of sites) {
    const agents = await siteAgents(db, one);
    for (const set of await readSecretSets(db, one)) found.push(describeSet(set, agents, escrow));
  }
  return found;
};

const describeSet = (
  { site, name, version, digest, sealed, recipients, agents: only, sealed_at: sealedAt }: StoredSet,
  agents: readonly AgentRow[],
  escrow: string | undefined,
): ListedSet => {
  const canRead = ({ recipient }: AgentRow): boolean => recipient !== null && recipients.includes(recipient);
  const meant = agents.filter((agent) => !only || only.includes(agent.name));
  return {
    site,
    name,
    version,
    digest,
    bytes: sealed.byteLength,
    sealedAt,
    readers: agents.filter(canRead).map((agent) => agent.name),
    locked: meant.filter((agent) => !canRead(agent)).map((agent) => agent.name),
    former: recipients.filter(
      (recipient) => recipient !== escrow && !agents.some((agent) => agent.recipient === recipient),
    ),
    escrow: escrow === undefined ? null : recipients.includes(escrow),
  };
};

/** Recommended actions for a set, one sentence each. */
export const recommendationsFor = ({ site, name, locked, former, escrow }: ListedSet): readonly string[] => [
  ...(locked.length > 0 ? [`${locked.join(', ')} of ${site} cannot read ${name}: seal it again`] : []),
  ...(former.length > 0
    ? [
        `${former.length === 1 ? 'a machine that is' : `${former.length} machines that are`} no longer of ${site} could read ${name}: replace the secrets in it, then set it again`,
      ]
    : []),
  ...(escrow === false ? [`the escrow cannot read ${name}: set it again`] : []),
];

/** The same for all sets of a site. @throws FleetError SITE_MISSING */
export const siteRecommendations = async (
  db: Database,
  site: string,
  escrow: string | undefined,
): Promise<readonly string[]> => (await listSecrets(db, site, escrow)).flatMap(recommendationsFor);
