import { type Expression, type ExpressionBuilder, sql, type SqlBool } from 'kysely';
import { compareBytes, type Digest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { formatChannel } from '#bundles/names';
import { formatTime, type Timestamp } from '#bundles/time';
import type { Hub } from '../../hub.ts';
import { cutPage, decodeCursor, type Page } from '../../page.ts';
import { seesAssignment, seesEnvironment, seesWhole, type Visible } from '../../people/visible.ts';
import type { Database, Tables } from '../../store/tables.ts';
import { openReleases, type Releases } from '../history/read-releases.ts';

/** In the order of the answer. */
const KINDS = [
  'environment',
  'site',
  'agent',
  'workload',
  'assignment',
  'release',
  'candidate',
  'bundle',
  'package',
] as const;

export type Found = {
  readonly kind: (typeof KINDS)[number];
  /** The name, '<site>/<agent>', '<channel> r<number>', or the digest. */
  readonly name: string;
  /** Where it belongs: the channel of an agent or assignment, the site of an agent. */
  readonly in: string | null;
};

export type SearchAsked = {
  readonly text: string;
  readonly page: Page;
  readonly visible?: Visible | undefined;
};

export type SearchAnswer = {
  readonly at: Timestamp;
  readonly found: readonly Found[];
  readonly next: string | null;
};

const MAX_LENGTH = 100;
/** Fewer digits of a digest would find everything. */
const DIGITS = 6;

/**
 * Everything whose name contains a text, or whose digest begins with it: sites and agents of the database, the rest of the releases.
 * @throws FleetError USAGE for a text that is empty or too long, and for the cursor
 */
export const answerSearch = async (
  hub: Pick<Hub, 'store' | 'layout' | 'keys'>,
  { text, page, visible }: SearchAsked,
  now: Date,
): Promise<SearchAnswer> => {
  const wanted = text.trim().toLowerCase();
  if (wanted === '' || wanted.length > MAX_LENGTH)
    throw new FleetError('USAGE', `a search is for 1 to ${MAX_LENGTH} characters`, { hint: 'Add ?q=' });
  const [kind, after] =
    page.cursor === undefined ? [0, undefined] : decodeCursor(page.cursor, [0, ''] as const);
  const start = { kind, after };
  const found = [
    ...(await findNamed(hub.store.db, { wanted, visible, limit: page.limit + 1 }, start)),
    ...(await findReleased(await openReleases(hub), wanted, visible)),
  ]
    .filter((one) => isAfter(one, start))
    .toSorted((a, b) => KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind) || compareBytes(a.name, b.name));
  const { rows, next } = cutPage(found.slice(0, page.limit + 1), page.limit, (one) => [
    KINDS.indexOf(one.kind),
    one.name,
  ]);
  return { at: formatTime(now), found: rows, next };
};

type Start = { readonly kind: number; readonly after: string | undefined };

const isAfter = ({ kind, name }: Found, start: Start): boolean => {
  const place = KINDS.indexOf(kind);
  if (place !== start.kind) return place > start.kind;
  return start.after === undefined || compareBytes(name, start.after) > 0;
};

type NamedAsked = {
  readonly wanted: string;
  readonly visible: Visible | undefined;
  readonly limit: number;
};

/** Sites and agents. `limit` of each is enough for a page. */
const findNamed = async (
  db: Database,
  { wanted, visible, limit }: NamedAsked,
  { kind, after }: Start,
): Promise<readonly Found[]> => {
  const pattern = `%${wanted.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`;
  const from = (of: Found['kind']): string => (KINDS[kind] === of && after !== undefined ? after : '');
  const findSites = db
    .selectFrom('agent')
    .select('site')
    .distinct()
    .where('revoked_at', 'is', null)
    .where(isFound(visible))
    .where(sql<boolean>`site like ${pattern} escape '\\'`)
    .where('site', '>', from('site'))
    .orderBy('site')
    .limit(limit);
  const findAgents = db
    .selectFrom('agent')
    .select(['id', 'environment', 'cluster_type'])
    .where('revoked_at', 'is', null)
    .where(isFound(visible))
    .where(sql<boolean>`id like ${pattern} escape '\\'`)
    .where('id', '>', from('agent'))
    .orderBy('id')
    .limit(limit);
  // Each reads all names once: at the same time, where the database can.
  const [sites, agents] = await Promise.all([findSites.execute(), findAgents.execute()]);
  return [
    ...sites.map(({ site }): Found => ({ kind: 'site', name: site, in: null })),
    ...agents.map(
      ({ id, environment, cluster_type: clusterType }): Found => ({
        kind: 'agent',
        name: id,
        in: formatChannel({ environment, clusterType }),
      }),
    ),
  ];
};

/** A reader of a part of an environment finds the agents that have one of its assignments. */
const isFound =
  (visible: Visible | undefined) =>
  (eb: ExpressionBuilder<Pick<Tables, 'agent' | 'assignment_state'>, 'agent'>): Expression<SqlBool> =>
    visible === undefined
      ? eb.lit(true)
      : eb.or([
          eb('agent.environment', 'in', ['', ...visible.whole]),
          ...[...visible.parts].map(([environment, assignments]) =>
            eb.and([
              eb('agent.environment', '=', environment),
              eb.exists(
                eb
                  .selectFrom('assignment_state')
                  .select('assignment_state.agent')
                  .whereRef('assignment_state.agent', '=', 'agent.id')
                  .where('assignment_state.assignment', 'in', ['', ...assignments]),
              ),
            ]),
          ),
        ]);

/** Environments, workloads, assignments, releases, and digests of all of these. */
const findReleased = async (
  releases: Releases,
  wanted: string,
  visible: Visible | undefined,
): Promise<readonly Found[]> => {
  const found = new Map<string, Found>();
  const add = (one: Found): void => void found.set(`${one.kind} ${one.name}`, one);
  const byName = (one: Found): void => {
    if (one.name.includes(wanted)) add(one);
  };
  const digits = wanted.replace(/^sha256:/, '');
  const isDigits = digits.length >= DIGITS && /^[0-9a-f]+$/.test(digits);
  const byDigest = (kind: Found['kind'], digest: Digest | null, place: string): void => {
    if (isDigits && digest?.startsWith(`sha256:${digits}`) === true) add({ kind, name: digest, in: place });
  };
  for (const channel of releases.channels()) {
    const { environment } = channel;
    const name = formatChannel(channel);
    if (!seesEnvironment(visible, environment)) continue;
    const isWhole = seesWhole(visible, environment);
    byName({ kind: 'environment', name: environment, in: null });
    for (const release of await releases.of(channel)) {
      if (isWhole) {
        const place = release.current ? 'current' : null;
        byName({ kind: 'release', name: `${name} r${release.version}`, in: place });
        byDigest('candidate', release.candidate, name);
      }
      for (const [assignment, { package: digest, workload, bundle }] of release.packages) {
        if (isWhole) byDigest('bundle', bundle, name);
        if (!seesAssignment(visible, environment, assignment)) continue;
        byName({ kind: 'assignment', name: assignment, in: workload });
        if (workload !== null) byName({ kind: 'workload', name: workload, in: null });
        byDigest('package', digest, assignment);
      }
    }
  }
  return [...found.values()];
};
