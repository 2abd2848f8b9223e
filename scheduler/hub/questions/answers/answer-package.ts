import type { Digest } from '#bundles/digest';
import { FleetError, isFleetError } from '#bundles/errors';
import type { Event } from '#bundles/formats/events/event';
import type { ItemDiff } from '#bundles/formats/diff/compare-items';
import { isRecord } from '#bundles/is-record';
import type { Json } from '#bundles/json/canonical';
import { formatChannel } from '#bundles/names';
import { parseJson } from '#bundles/json/parse-json';
import { formatTime, type Timestamp } from '#bundles/time';
import type { Hub } from '../../hub.ts';
import { seesAssignment, type Visible } from '../../people/visible.ts';
import { channelOf } from '../../sites/agent-record.ts';
import type { AssignmentStateRow, Database } from '../../store/tables.ts';
import { readDifferences } from './compare-packages.ts';
import { driftedLines } from './drifted-lines.ts';
import { type PackageObject, packageObjects } from './package-objects.ts';
import { type NamedPackage, namePackage } from '../history/name-value.ts';
import { openReleases, type PastRelease, type Released } from '../history/read-releases.ts';

/** An object or file of a package that differed at the site, as the agent reported it. */
export type DriftedObject = {
  readonly key: string;
  readonly what: string;
  readonly message: string;
  /** Lines of a unified diff from the package to the live state; null: the report does not say which lines differ. */
  readonly diff: string | null;
};

export type PackageAnswer = {
  readonly at: Timestamp;
  /** '<site>/<agent>' */
  readonly agent: string;
  readonly assignment: string;
  /** 'prod/kiosk' */
  readonly channel: string;
  readonly wanted: (NamedPackage & { readonly release: number }) | null;
  readonly running: NamedPackage | null;
  /** Parts of the package that runs, or of the wanted one. null: no release in the layout has it any more. */
  readonly objects: readonly Omit<PackageObject, 'item'>[] | null;
  /**
   * Difference from the running to the desired package. Values of Secrets are masked. null: the contents of one of them are
   * unknown.
   */
  readonly differences: readonly ItemDiff[] | null;
  readonly drift: {
    readonly drifted: boolean;
    readonly at: Timestamp;
    readonly message: string | null;
    /** The first objects, as many as the agent listed; `more` it only counted. */
    readonly objects: readonly DriftedObject[];
    readonly more: number;
  } | null;
  /** Releases that the assignment can be taken back to, the newest first: those with another package of it than the current one. */
  readonly earlier: readonly (NamedPackage & { readonly release: number })[];
};

/** Earlier releases that are listed. */
const EARLIER = 10;

export type PackageAsked = {
  /** '<site>/<agent>' */
  readonly agent: string;
  readonly assignment: string;
  readonly visible?: Visible | undefined;
};

/**
 * One package at one agent: its objects, what an update would change, and how the live state differs.
 * @throws FleetError USAGE for an agent that is not enrolled, or that the reader may not see
 */
export const answerPackage = async (
  hub: Pick<Hub, 'store' | 'layout' | 'keys'>,
  { agent, assignment, visible }: PackageAsked,
  now: Date,
): Promise<PackageAnswer> => {
  const { db } = hub.store;
  const row = await db
    .selectFrom('agent')
    .selectAll()
    .where('id', '=', agent)
    .where('revoked_at', 'is', null)
    .executeTakeFirst();
  if (!row || !seesAssignment(visible, row.environment, assignment))
    throw new FleetError('USAGE', `the hub knows no agent ${JSON.stringify(agent.slice(0, 130))}`, {
      hint: 'An agent is written as <site>/<agent>',
    });
  const state = await db
    .selectFrom('assignment_state')
    .selectAll()
    .where('agent', '=', agent)
    .where('assignment', '=', assignment)
    .executeTakeFirst();
  const releases = await openReleases(hub);
  const channel = channelOf(row);
  const past = await releases.of(channel);
  const current = past.find((release) => release.current);
  const wanted = current?.packages.get(assignment);
  const running = state?.package ?? null;
  const released = running === null ? undefined : findReleased(past, assignment, running);
  const shown = released ?? (running === null ? wanted : undefined);
  const readUpdate = async (): Promise<PackageAnswer['differences']> => {
    if (!released || !wanted) return null;
    if (released.package === wanted.package) return [];
    const read = () =>
      readDifferences(releases)({ released, channel }, { released: wanted, channel }, assignment);
    return (await orNull(read))?.objects ?? null;
  };
  const objects = shown
    ? await orNull(async () =>
        packageObjects((await releases.packagesOf(shown.bundle)).get(assignment) ?? new Map()),
      )
    : null;
  return {
    at: formatTime(now),
    agent,
    assignment,
    channel: formatChannel(channel),
    wanted:
      wanted && current
        ? { ...(await namePackage(releases, channel, assignment, wanted.package)), release: current.version }
        : null,
    running: running === null ? null : await namePackage(releases, channel, assignment, running),
    objects: objects && objects.map(({ item: _, ...object }) => object),
    differences: await readUpdate(),
    drift: state ? await driftOf(db, row.life, state, objects ?? []) : null,
    earlier: await Promise.all(
      earlierOf(past, assignment).map(async ({ release, digest }) => ({
        ...(await namePackage(releases, channel, assignment, digest)),
        release,
      })),
    ),
  };
};

const earlierOf = (
  past: readonly PastRelease[],
  assignment: string,
): readonly { readonly release: number; readonly digest: Digest }[] => {
  const current = past.find((release) => release.current);
  const wanted = current?.packages.get(assignment)?.package;
  return past
    .flatMap(({ version, revoked, packages }) => {
      const digest = packages.get(assignment)?.package;
      const isEarlier = current !== undefined && version < current.version && revoked === null;
      return isEarlier && digest !== undefined && digest !== wanted ? [{ release: version, digest }] : [];
    })
    .toSorted((a, b) => b.release - a.release)
    .slice(0, EARLIER);
};

const findReleased = (
  past: readonly PastRelease[],
  assignment: string,
  digest: Digest,
): Released | undefined =>
  past.map(({ packages }) => packages.get(assignment)).find((released) => released?.package === digest);

/** The contents of an older release may have been collected. */
const orNull = async <T>(read: () => Promise<T>): Promise<T | null> => {
  try {
    return await read();
  } catch (error) {
    if (isFleetError(error)) return null;
    throw error;
  }
};

const driftOf = async (
  db: Database,
  life: number,
  { agent, drifted, drift_message: message, drift_seq: seq, drift_at: at }: AssignmentStateRow,
  known: readonly PackageObject[],
): Promise<PackageAnswer['drift']> => {
  if (at === null) return null;
  const stored = await db
    .selectFrom('event')
    .select(['line', 'type'])
    .where('agent', '=', agent)
    .where('life', '=', life)
    .where('seq', '=', seq)
    .executeTakeFirst();
  const { detail } = stored?.type === 'drift' ? (parseJson(stored.line) as Event) : { detail: undefined };
  const { drift, more } = detail ?? {};
  return {
    drifted: drifted === 1,
    at,
    message,
    objects: Array.isArray(drift) ? withLines((drift as readonly Json[]).flatMap(driftedObject), known) : [],
    more: typeof more === 'number' ? more : 0,
  };
};

/** The detail of an event is signed, but its form is not checked when it is stored. */
const driftedObject = (item: Json): readonly Omit<DriftedObject, 'diff'>[] => {
  if (!isRecord(item)) return [];
  const { key, what, message } = item as Readonly<Record<string, Json>>;
  return [{ key: textOrEmpty(key), what: textOrEmpty(what), message: textOrEmpty(message) }];
};

/** Texts compared for one answer, of which each counts at least a page: an event may name a large object a thousand times. */
const MAX_COMPARED_CHARACTERS = 1 << 20;
const PAGE_CHARACTERS = 2048;

/** The entries with their lines. Those beyond the limit have none. */
const withLines = (
  drifted: readonly Omit<DriftedObject, 'diff'>[],
  known: readonly PackageObject[],
): readonly DriftedObject[] => {
  const objects = new Map(known.map((object) => [object.key, object]));
  let compared = 0;
  return drifted.map((one) => {
    const object = objects.get(one.key);
    if (!object || compared >= MAX_COMPARED_CHARACTERS) return { ...one, diff: null };
    compared += Math.max(lengthOf(object), PAGE_CHARACTERS);
    return { ...one, diff: driftedLines(object, one) };
  });
};

const lengthOf = ({ item: { object, text } }: PackageObject): number =>
  JSON.stringify(object ?? text, (_, value: unknown) => (typeof value === 'bigint' ? `${value}` : value))
    .length;

const textOrEmpty = (value: Json | undefined): string => (typeof value === 'string' ? value : '');
