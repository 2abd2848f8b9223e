import { FleetError } from '#bundles/errors';
import type { Timestamp } from '#bundles/time';
import { isSeen, seesSomewhere, type Visible } from '../../people/visible.ts';
import type { Database } from '../../store/tables.ts';
import type { Releases } from './read-releases.ts';

/** Filter of a question; undefined fields do not limit it. */
export type Subject = {
  readonly environment?: string | undefined;
  readonly site?: string | undefined;
  /** '<site>/<agent>' */
  readonly agent?: string | undefined;
  /** Any of these; of a workload all that it is deployed as. */
  readonly assignments?: readonly string[] | undefined;
  /** Limits of what the caller may see; undefined: no limits. */
  readonly visible?: Visible | undefined;
};

/** When: observed from `since` to `until`, inclusive; received by the hub at `knownAt` at the latest. */
export type Span = {
  readonly since?: Timestamp | undefined;
  readonly until?: Timestamp | undefined;
  readonly knownAt?: Timestamp | undefined;
};

/**
 * Resolves a name: '<site>/<agent>', or an environment, site, assignment or workload.
 * @param visible limits of the caller: other names are unknown
 * @throws FleetError USAGE for an unknown or ambiguous name
 */
export const findSubject = async (
  db: Database,
  name: string,
  assignmentsOf: Releases['assignmentsOf'],
  visible?: Visible,
): Promise<Subject> => {
  const anyAgent = async (column: 'id' | 'environment' | 'site'): Promise<boolean> => {
    let query = db.selectFrom('agent').select('id').where(column, '=', name);
    if (visible) query = query.where(isSeen(visible));
    return (await query.executeTakeFirst()) !== undefined;
  };
  if (name.includes('/')) {
    if (await anyAgent('id')) return { agent: name };
    throw unknown(name);
  }
  const environment = await anyAgent('environment');
  const site = visible
    ? await anyAgent('site')
    : await db.selectFrom('site').select('name').where('name', '=', name).executeTakeFirst();
  const assignments = (await findAssignments(db, name, assignmentsOf)).filter((one) =>
    seesSomewhere(visible, one),
  );
  const found = [
    ...(environment ? [{ environment: name }] : []),
    ...(site ? [{ site: name }] : []),
    ...(assignments.length > 0 ? [{ assignments }] : []),
  ];
  const [only] = found;
  if (only && found.length === 1) return only;
  if (!only) throw unknown(name);
  const flags = found.flatMap((subject) => Object.keys(subject)).map((kind) => FLAGS.get(kind) ?? kind);
  throw new FleetError('USAGE', `${JSON.stringify(name)} is the name of more than one thing`, {
    hint: `Name it by its flag: ${flags.map((flag) => `--${flag} ${name}`).join(' or ')}`,
  });
};

const FLAGS: ReadonlyMap<string, string> = new Map([['assignments', 'workload']]);

/** The assignments that a workload is or was deployed as, or the one of this name. */
export const findAssignments = async (
  db: Database,
  name: string,
  assignmentsOf: Releases['assignmentsOf'],
): Promise<readonly string[]> => {
  const reported = await db
    .selectFrom('history')
    .select('assignment')
    .where('assignment', '=', name)
    .limit(1)
    .execute();
  return [...new Set([...reported.map(({ assignment }) => assignment), ...(await assignmentsOf(name))])];
};

export const unknown = (name: string): FleetError =>
  new FleetError(
    'USAGE',
    `the hub knows no environment, site, agent, workload or assignment ${JSON.stringify(name.slice(0, 80))}`,
    { hint: 'fleet-scheduler status lists all; an agent is written as <site>/<agent>' },
  );
