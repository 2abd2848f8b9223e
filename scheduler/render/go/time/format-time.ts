import { unreachable } from '../../../model/unreachable.ts';
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

const partText = (part: PartName, clock: Clock): string => {
  const { date } = clock;
  const hour = date.getUTCHours();
  switch (part) {
    case '2006':
      return String(date.getUTCFullYear()).padStart(4, '0');
    case '06':
      return two(date.getUTCFullYear() % 100);
    case 'January':
      return MONTHS[date.getUTCMonth()] ?? '';
    case 'Jan':
      return (MONTHS[date.getUTCMonth()] ?? '').slice(0, 3);
    case '01':
      return two(date.getUTCMonth() + 1);
    case '1':
      return String(date.getUTCMonth() + 1);
    case 'Monday':
      return DAYS[date.getUTCDay()] ?? '';
    case 'Mon':
      return (DAYS[date.getUTCDay()] ?? '').slice(0, 3);
    case '02':
      return two(date.getUTCDate());
    case '_2':
      return String(date.getUTCDate()).padStart(2);
    case '2':
      return String(date.getUTCDate());
    case '002':
      return String(dayOfYear(date)).padStart(3, '0');
    case '__2':
      return String(dayOfYear(date)).padStart(3);
    case '15':
      return two(hour);
    case '03':
      return two(hour % 12 || 12);
    case '3':
      return String(hour % 12 || 12);
    case '04':
      return two(date.getUTCMinutes());
    case '4':
      return String(date.getUTCMinutes());
    case '05':
      return two(date.getUTCSeconds());
    case '5':
      return String(date.getUTCSeconds());
    case 'PM':
      return hour >= 12 ? 'PM' : 'AM';
    case 'pm':
      return hour >= 12 ? 'pm' : 'am';
    case 'MST':
      return zoneText(clock);
    case '-070000':
    case '-07:00:00':
    case '-0700':
    case '-07:00':
    case '-07':
    case 'Z070000':
    case 'Z07:00:00':
    case 'Z0700':
    case 'Z07:00':
    case 'Z07':
      return offsetText(part, clock.offset);
  }
  return unreachable(part);
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
      return part.kind === 'fraction' ? fractionText(part, rest) : partText(part.text, clock);
    })
    .join('');
};
