import { DAYS, type LayoutPart, MONTHS, type PartName, parseLayout } from '../../../model/go/time/layout.ts';
import type { Moment } from '../../../model/go/time/moment.ts';
import { offsetAt, type Zone } from '../../../model/go/time/zone.ts';

type Clock = {
  readonly date: Date;
  readonly nanos: number;
  readonly offset: number;
  readonly zone: Zone;
};

const two = (value: number): string => String(value).padStart(2, '0');

/** `Z` when the layout part begins with Z and the offset is zero, else the sign and as many fields as the part has. */
const offsetText = (part: string, offset: number): string => {
  if (part.startsWith('Z') && offset === 0) return 'Z';
  const size = Math.abs(offset);
  const colon = part.includes(':') ? ':' : '';
  const sign = Math.trunc(offset / 60) < 0 ? '-' : '+';
  const fields = [Math.floor(size / 3600), Math.floor(size / 60) % 60, size % 60];
  const digits = part.replace(/[^0-9]/g, '').length;
  return (
    sign +
    fields
      .slice(0, digits / 2)
      .map(two)
      .join(colon)
  );
};

const zoneText = ({ zone, offset }: Clock): string => {
  if (zone.kind === 'utc') return 'UTC';
  if (zone.kind === 'fixed' && zone.name !== '') return zone.name;
  // Node.js has no zone abbreviations; the offset is printed, as Go does for zones without one.
  return offsetText(zone.kind === 'named' && offset % 3600 === 0 ? '-07' : '-0700', offset);
};

const dayOfYear = (date: Date): number => {
  const start = new Date(0);
  start.setUTCFullYear(date.getUTCFullYear(), 0, 0);
  return Math.floor((date.getTime() - start.getTime()) / 86_400_000);
};

const PART_TEXTS: { readonly [Part in PartName]: (clock: Clock) => string } = {
  '2006': ({ date }) => String(date.getUTCFullYear()).padStart(4, '0'),
  '06': ({ date }) => two(date.getUTCFullYear() % 100),
  January: ({ date }) => MONTHS[date.getUTCMonth()] ?? '',
  Jan: ({ date }) => (MONTHS[date.getUTCMonth()] ?? '').slice(0, 3),
  '01': ({ date }) => two(date.getUTCMonth() + 1),
  '1': ({ date }) => String(date.getUTCMonth() + 1),
  Monday: ({ date }) => DAYS[date.getUTCDay()] ?? '',
  Mon: ({ date }) => (DAYS[date.getUTCDay()] ?? '').slice(0, 3),
  '02': ({ date }) => two(date.getUTCDate()),
  _2: ({ date }) => String(date.getUTCDate()).padStart(2),
  '2': ({ date }) => String(date.getUTCDate()),
  '002': ({ date }) => String(dayOfYear(date)).padStart(3, '0'),
  __2: ({ date }) => String(dayOfYear(date)).padStart(3),
  '15': ({ date }) => two(date.getUTCHours()),
  '03': ({ date }) => two(date.getUTCHours() % 12 || 12),
  '3': ({ date }) => String(date.getUTCHours() % 12 || 12),
  '04': ({ date }) => two(date.getUTCMinutes()),
  '4': ({ date }) => String(date.getUTCMinutes()),
  '05': ({ date }) => two(date.getUTCSeconds()),
  '5': ({ date }) => String(date.getUTCSeconds()),
  PM: ({ date }) => (date.getUTCHours() >= 12 ? 'PM' : 'AM'),
  pm: ({ date }) => (date.getUTCHours() >= 12 ? 'pm' : 'am'),
  MST: zoneText,
  '-070000': ({ offset }) => offsetText('-070000', offset),
  '-07:00:00': ({ offset }) => offsetText('-07:00:00', offset),
  '-0700': ({ offset }) => offsetText('-0700', offset),
  '-07:00': ({ offset }) => offsetText('-07:00', offset),
  '-07': ({ offset }) => offsetText('-07', offset),
  Z070000: ({ offset }) => offsetText('Z070000', offset),
  'Z07:00:00': ({ offset }) => offsetText('Z07:00:00', offset),
  Z0700: ({ offset }) => offsetText('Z0700', offset),
  'Z07:00': ({ offset }) => offsetText('Z07:00', offset),
  Z07: ({ offset }) => offsetText('Z07', offset),
};

const fractionText = (
  { separator, digits, trim }: Extract<LayoutPart, { kind: 'fraction' }>,
  nanos: number,
): string => {
  const text = String(nanos).padStart(9, '0').slice(0, digits);
  const shown = trim ? text.replace(/0+$/, '') : text;
  return shown === '' ? '' : separator + shown;
};

/** The moment in a Go layout. */
export const formatTime = ({ nanos, zone }: Moment, layout: string): string => {
  const rest = Number(((nanos % 1_000_000_000n) + 1_000_000_000n) % 1_000_000_000n);
  const millis = Number((nanos - BigInt(rest)) / 1_000_000n);
  const offset = offsetAt(zone, millis);
  const clock: Clock = { date: new Date(millis + offset * 1000), nanos: rest, offset, zone };
  return parseLayout(layout)
    .map((part) => {
      if (part.kind === 'text') return part.text;
      return part.kind === 'fraction' ? fractionText(part, rest) : PART_TEXTS[part.text](clock);
    })
    .join('');
};
