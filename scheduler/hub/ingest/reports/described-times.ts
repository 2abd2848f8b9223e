import { defined } from '#bundles/defined';
import { canonicalJson } from '#bundles/json/canonical';
import type { ReportPredicate } from '#bundles/formats/statements/predicates';
import { formatTime, parseTime, type Timestamp } from '#bundles/time';
import type { AgentRow } from '../../store/tables.ts';

/** Words of an agent about its looks, in a report or a presence message. */
export type ReportedLookTimes = Pick<ReportPredicate, 'time'> &
  Pick<Partial<ReportPredicate>, 'lookedAt' | 'looks'>;

/** A look may be this much later than the report about it, because time servers correct clocks. Its age counts as 0. */
const CORRECTION_MS = 60_000;

/** Columns of an agent. Without `said_at` if a running package was never compared, or at an unknown time. */
export type DescribedTimes = Pick<AgentRow, 'looks' | 'service'> & { readonly said_at?: Timestamp };

/**
 * The times that the words of an agent describe: when it compared live state, not when it wrote or when the words arrived. Times of looks
 * are counted back from `writtenAt` by the agent's own clock, so that a clock that is wrong changes no age. A look later than the report was
 * before the clock was set back: its time is unknown.
 * @param writtenAt when the words were written, by the clock of the hub
 */
export const describedTimes = (
  { time, lookedAt, looks }: ReportedLookTimes,
  writtenAt: Timestamp,
): DescribedTimes => {
  const written = parseTime(writtenAt).getTime();
  const at = (look: Timestamp): Timestamp | null => {
    const age = parseTime(time).getTime() - parseTime(look).getTime();
    return age < -CORRECTION_MS ? null : formatTime(new Date(written - Math.max(0, age)));
  };
  const usual = lookedAt === undefined ? null : at(lookedAt);
  const named = Object.entries(looks?.packages ?? {}).map(
    ([assignment, look]) => [assignment, look === null ? null : at(look)] as const,
  );
  const times = [...(usual === null ? [] : [usual]), ...named.flatMap(([, look]) => look ?? [])];
  const isKnown = (lookedAt === undefined || usual !== null) && named.every(([, look]) => look !== null);
  return defined({
    said_at: isKnown ? (times.toSorted()[0] ?? writtenAt) : undefined,
    looks: named.length === 0 ? null : canonicalJson({ at: usual, packages: Object.fromEntries(named) }),
    service: looks?.service ?? null,
  });
};
