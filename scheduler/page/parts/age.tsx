import type { StatusRow as Row } from '#bundles/schemas/types/hub-decisions';
import { formatAge } from '../../hub/questions/status/format-age.ts';
import { usePreferences } from '../api/preferences.ts';
import { exactTime } from './exact-time.ts';

type Times = {
  readonly at: string | null;
  /** The hub's time of the answer. The browser's clock may be wrong. */
  readonly now: string;
};

/** '3 h ago'; the exact time is the title, for pointers and screen readers. */
export const Age = ({ at, now }: Times) => {
  const { times } = usePreferences();
  return at === null ? (
    <span>never</span>
  ) : (
    <time dateTime={at} title={exactTime(at, times)}>
      {formatAge(at, new Date(now))}
    </time>
  );
};

/** '2026-11-28 08:00 UTC', or in the zone of the browser. */
export const At = ({ at }: { readonly at: string }) => {
  const { times } = usePreferences();
  const exact = exactTime(at, times);
  return (
    <time dateTime={at} title={exact}>
      {exact.replace(/:\d\d (?=\S+$)/, ' ')}
    </time>
  );
};

/** Times in sentences of the hub and of agents. */
const TIME = /(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)/;

/** A sentence whose times are shown as all others are. */
export const Timed = ({ text }: { readonly text: string }) =>
  text.split(TIME).map((part, at) =>
    // Every second part is a time.
    at % 2 === 1 ? <At key={`${at} ${part}`} at={part} /> : part,
  );

type Cell = NonNullable<Row['running'] | Row['health'] | Row['drift']>;

const SOURCE_NAMES: Readonly<Record<string, string>> = { stick: 'on a medium', network: 'over the network' };

/** Age and source of a reported value. Values of sites without a network are days old. */
export const SourceOf = ({
  cell: { at, seq, source },
  now,
}: {
  readonly cell: Cell;
  readonly now: string;
}) => (
  <small className="source">
    <Age at={at} now={now} />, event {seq}, {SOURCE_NAMES[source.by] ?? `by ${source.by}`}, received{' '}
    <Age at={source.receivedAt} now={now} />
    {source.clockTrusted ? '' : ', clock not trusted'}
  </small>
);
