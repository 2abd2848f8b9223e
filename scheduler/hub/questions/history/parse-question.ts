import { defined } from '#bundles/defined';
import { FleetError } from '#bundles/errors';
import { parseName } from '#bundles/names';
import { formatTime } from '#bundles/time';
import { parseWhen } from '../../../settings/parse-when.ts';
import type { Hub } from '../../hub.ts';
import { type Page, parseLimit } from '../../page.ts';
import { seesSomewhere, type Visible } from '../../people/visible.ts';
import { findAssignments, findSubject, type Span, type Subject, unknown } from './question.ts';
import { openReleases } from './read-releases.ts';
import type { At } from './read-state-at.ts';

/** A question as flags or query parameters say it. */
export type AskedQuestion = {
  /** Environment, site, agent, workload or assignment. */
  readonly name?: string | undefined;
  readonly environment?: string | undefined;
  readonly site?: string | undefined;
  readonly workload?: string | undefined;
  readonly since?: string | undefined;
  readonly until?: string | undefined;
  readonly at?: string | undefined;
  readonly asKnownAt?: string | undefined;
  readonly limit?: string | undefined;
  readonly cursor?: string | undefined;
};

type Hubs = Pick<Hub, 'store' | 'layout' | 'keys'>;

export type Question = {
  readonly subject: Subject;
  readonly span: Span;
  /** The state at a time is asked for, not the changes. */
  readonly at: At | undefined;
  readonly page: Page;
};

/** @param visible limits of the caller; undefined: no limits @throws FleetError USAGE, NAME_INVALID */
export const parseQuestion = async (
  hub: Hubs,
  asked: AskedQuestion,
  now: Date,
  visible?: Visible,
): Promise<Question> => {
  const { environment, site, since, until, at, asKnownAt, cursor } = asked;
  if (at !== undefined && (since !== undefined || until !== undefined)) {
    throw new FleetError('USAGE', 'the state at a time has no beginning and no end', {
      hint: 'Ask with at, or with since and until',
    });
  }
  const when = (text: string | undefined, what: string) =>
    text === undefined ? undefined : parseWhen(text, what, now);
  const knownAt = when(asKnownAt, 'as-known-at');
  const time = when(at, 'at');
  return {
    subject: {
      ...defined({
        environment: environment !== undefined ? parseName(environment, 'environment') : undefined,
        site: site !== undefined ? parseName(site, 'site') : undefined,
      }),
      ...(await namedSubject(hub, asked, visible)),
      ...defined({ visible }),
    },
    span: { since: when(since, 'since'), until: when(until, 'until'), knownAt },
    at: time === undefined ? undefined : { at: time, knownAt },
    page: { limit: parseLimit(asked.limit), cursor },
  };
};

/** Now, for questions about the current state. */
export const atOrNow = ({ at, span }: Question, now: Date): At =>
  at ?? { at: formatTime(now), knownAt: span.knownAt };

const namedSubject = async (
  hub: Hubs,
  { name, workload }: AskedQuestion,
  visible: Visible | undefined,
): Promise<Subject> => {
  if (name === undefined && workload === undefined) return {};
  const { assignmentsOf } = await openReleases(hub);
  const named = name === undefined ? {} : await findSubject(hub.store.db, name, assignmentsOf, visible);
  if (workload === undefined) return named;
  const assignments = (await findAssignments(hub.store.db, workload, assignmentsOf)).filter((one) =>
    seesSomewhere(visible, one),
  );
  if (assignments.length === 0) throw unknown(workload);
  return { ...named, assignments };
};
