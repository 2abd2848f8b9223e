import { formatTime } from '#bundles/time';
import type { FreshnessPolicy } from '../../model/promotion.ts';
import type { Hub } from '../hub.ts';
import type { Page } from '../page.ts';
import { describeFailures } from './describe-failures.ts';
import { describeFreshness, describeStatus, describeVisits } from './describe-status.ts';
import { readFreshness } from './freshness-policies.ts';
import { describeLinks, readLinkStates } from './link-states.ts';
import { type ActualFilter, channelsOf, readActual } from './read-actual.ts';
import { readDesired } from './read-desired.ts';
import { renderNarrow } from './render-narrow.ts';
import { isQuiet, renderTable } from './render-table.ts';
import { whatRunsWhere } from './what-runs-where.ts';

export type StatusAnswer = {
  /** For people: the full table and the notes below it. */
  readonly lines: readonly string[];
  /** The same in 80 columns. */
  readonly narrow: readonly string[];
  /** For programs (docs/hub-api.md). */
  readonly json: object;
};

export type StatusOptions = {
  readonly signal?: AbortSignal;
  /** Freshness policies of a platform, instead of those that `serve` stored. */
  readonly platform?: readonly FreshnessPolicy[] | undefined;
  /** A part of the agents; without it all. */
  readonly page?: Page | undefined;
};

/** What runs where: the answer of `fleet-scheduler status` and of the hub's API. */
export const readStatus = async (
  hub: Pick<Hub, 'store' | 'layout' | 'keys'>,
  filter: ActualFilter,
  now: Date,
  { signal, platform, page }: StatusOptions = {},
): Promise<StatusAnswer> => {
  const freshness = platform
    ? { from: 'platform' as const, policies: platform }
    : await readFreshness(hub.store.db);
  const actual = await readActual(hub.store.db, filter, now, page);
  const desired = await readDesired(hub.layout, channelsOf(actual.agents), hub.keys.root, signal);
  const rows = whatRunsWhere(desired, actual.agents, now, freshness);
  const links = await readLinkStates(hub.store.db, filter.environment);
  const notes = [
    ...describeFailures(rows, now),
    ...describeStatus(desired, actual, now),
    ...describeVisits(actual, freshness, now),
    ...describeFreshness(freshness),
    ...describeLinks(links),
    ...(actual.next === null ? [] : [`More agents: cursor=${actual.next}`]),
  ];
  const show = (render: typeof renderTable): readonly string[] =>
    rows.length === 0
      ? [`No agent${describeFilter(filter)} is enrolled here.`]
      : [...render(rows, now), '', ...notes];
  return {
    // Rendered when asked for: of a whole fleet each takes as long as reading it.
    get lines() {
      return show(renderTable);
    },
    get narrow() {
      return show(renderNarrow);
    },
    json: {
      fleet: hub.store.fleet,
      at: formatTime(now),
      needALook: rows.filter((row) => !isQuiet(row)).length,
      freshness,
      links,
      rows,
      gaps: actual.gaps,
      alarms: actual.alarms.map(({ agent, code, message, report, raised_at }) => ({
        agent,
        code,
        message,
        report,
        raisedAt: raised_at,
      })),
      notes,
      ...(page && { next: actual.next }),
    },
  };
};

const describeFilter = ({ environment, site }: ActualFilter): string => {
  const parts = [environment && `environment ${environment}`, site && `site ${site}`].filter(Boolean);
  return parts.length === 0 ? '' : ` of ${parts.join(' and ')}`;
};
