import { defined } from '#bundles/defined';
import type { ReportedLooks } from '#bundles/formats/statements/predicates';
import { formatTime, type Timestamp } from '#bundles/time';
import type { Edge } from '../model/edge.ts';
import { readPackages } from '../store/applied/packages.ts';
import { ageOf, type Moment, readLastLook } from '../store/last-look.ts';
import type { State } from '../store/state.ts';
import { judgeLook } from './judge-look.ts';

/** Fields of a report, and of a presence message, that say how current they are. */
export type ReportedLook = { readonly lookedAt?: Timestamp; readonly looks: ReportedLooks };

/** Most packages that one report names, so that its statement stays far below its limit. */
const MAX_NAMED = 100;

/**
 * When live state was last compared, from the agent's own records. Times are the present less the age by the clock since boot, so that
 * they fit the time of the report when the wall clock was set meanwhile. `lookedAt` is the time that most running packages have, or the
 * oldest one where more than `maxNamed` have others.
 */
export const reportedLooks = (
  { state, edge }: { readonly state: State; readonly edge: Edge },
  maxNamed = MAX_NAMED,
): ReportedLook => {
  const { last, packages } = readLastLook(state);
  const now = edge.now();
  const timeOf = (moment: Moment | undefined): Timestamp | null => {
    const age = moment && ageOf(moment, edge);
    return age === undefined ? null : formatTime(new Date(now.getTime() - age));
  };
  const running = readPackages(state).flatMap(({ assignment, current }) => (current ? [assignment] : []));
  const times = running.map((assignment) => [assignment, timeOf(packages[assignment])] as const);
  const known = times.flatMap(([, at]) => at ?? []).toSorted();
  const usual = mostFrequent(known) ?? timeOf(last);
  const others = times.filter(([, at]) => at === null || at !== usual);
  const isShort = others.length <= maxNamed;
  const named = isShort ? others : others.filter(([, at]) => at === null).slice(0, maxNamed);
  const lookedAt = isShort ? usual : (known[0] ?? null);
  const service = serviceOf(judgeLook({ state, edge }, { state: state.directory }).service);
  return defined({
    lookedAt: lookedAt ?? undefined,
    looks: defined({ service: service || undefined, packages: Object.fromEntries(named) }),
  });
};

/** @param times sorted; of equally frequent ones the earliest counts */
const mostFrequent = (times: readonly Timestamp[]): Timestamp | undefined =>
  [...Map.groupBy(times, (at) => at)].reduce<readonly Timestamp[]>(
    (most, [, of]) => (of.length > most.length ? of : most),
    [],
  )[0];

const serviceOf = ({
  running,
  expected,
}: {
  readonly running: boolean | null;
  readonly expected: boolean;
}): ReportedLooks['service'] => {
  if (running === null) return undefined;
  if (running) return 'running';
  return expected ? 'stopped' : 'none';
};
