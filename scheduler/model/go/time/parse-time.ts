import { DAYS, type LayoutPart, MONTHS, parseLayout } from './layout.ts';
import { type Moment, SECOND } from './moment.ts';
import { UTC, type Zone } from './zone.ts';

/** The fields read so far; month and day stay undefined until the text names them. */
type Fields = {
  year: number;
  month?: number;
  day?: number;
  yearDay?: number;
  hour: number;
  minute: number;
  second: number;
  nanos: number;
  half?: 'am' | 'pm';
  isUtc?: boolean;
  offset?: number;
  zoneName?: string;
};

/** Reads a field from the start of the text. Returns the length read, or undefined when the text does not fit. */
type Read = (text: string, fields: Fields, next: LayoutPart | undefined) => number | undefined;

const inRange = (value: number, low: number, high: number): boolean => value >= low && value <= high;

/** One or two digits; exactly two when `fixed`. */
const digits =
  (fixed: boolean, low: number, high: number, set: (fields: Fields, value: number) => void): Read =>
  (text, fields) => {
    const found = (fixed ? /^\d\d/ : /^\d\d?/).exec(text)?.[0];
    if (found === undefined || !inRange(Number(found), low, high)) return undefined;
    set(fields, Number(found));
    return found.length;
  };

const named =
  (names: readonly string[], set: (fields: Fields, index: number) => void): Read =>
  (text, fields) => {
    // Only ASCII is folded, so that no other letter matches one of a name.
    const index = names.findIndex(
      (name) =>
        text.slice(0, name.length).replace(/[A-Z]/g, (letter) => letter.toLowerCase()) === name.toLowerCase(),
    );
    if (index === -1) return undefined;
    set(fields, index);
    return (names[index] ?? '').length;
  };

const short = (names: readonly string[]): string[] => names.map((name) => name.slice(0, 3));

const nanosOf = (fraction: string): number => Number(fraction.slice(0, 9).padEnd(9, '0'));

const second =
  (fixed: boolean): Read =>
  (text, fields, next) => {
    const length = digits(fixed, 0, 59, (to, value) => {
      to.second = value;
    })(text, fields, next);
    if (length === undefined || next?.kind === 'fraction') return length;
    // Go accepts a fraction after the seconds even if the layout has none.
    const fraction = /^[.,](\d+)/.exec(text.slice(length));
    if (!fraction) return length;
    fields.nanos = nanosOf(fraction[1] ?? '');
    return length + fraction[0].length;
  };

const half =
  (am: string, pm: string): Read =>
  (text, fields) => {
    const found = text.slice(0, 2);
    if (found !== am && found !== pm) return undefined;
    fields.half = found === am ? 'am' : 'pm';
    return 2;
  };

const yearDay =
  (pattern: RegExp): Read =>
  (text, fields) => {
    const found = pattern.exec(text);
    if (!found) return undefined;
    fields.yearDay = Number(found[1]);
    return found[0].length;
  };

const OFFSETS: Readonly<Record<string, RegExp>> = {
  '07': /^([-+])(\d\d)/,
  '0700': /^([-+])(\d\d)(\d\d)/,
  '07:00': /^([-+])(\d\d):(\d\d)/,
  '070000': /^([-+])(\d\d)(\d\d)(\d\d)/,
  '07:00:00': /^([-+])(\d\d):(\d\d):(\d\d)/,
};

const offset =
  (part: string): Read =>
  (text, fields) => {
    if (part.startsWith('Z') && text.startsWith('Z')) {
      fields.isUtc = true;
      return 1;
    }
    const found = OFFSETS[part.slice(1)]?.exec(text);
    if (!found) return undefined;
    const [hours = 0, minutes = 0, seconds = 0] = found.slice(2).map((value) => Number(value ?? 0));
    if (hours > 24 || minutes > 60 || seconds > 60) return undefined;
    const size = (hours * 60 + minutes) * 60 + seconds;
    fields.offset = found[1] === '-' ? -size : size;
    return found[0].length;
  };

/** `+03`, `-11`: signed hours used as a zone name; empty without a match. */
const signedHours = (text: string): string => {
  const found = /^[-+](\d+)/.exec(text);
  return found && Number(found[1]) <= 23 ? found[0] : '';
};

const abbreviation = (text: string): string => {
  const special = /^(?:ChST|MeST)/.exec(text)?.[0];
  if (special !== undefined) return special;
  if (text.startsWith('GMT')) return `GMT${signedHours(text.slice(3))}`;
  if (/^[-+]/.test(text)) return signedHours(text);
  const letters = /^[A-Z]{0,6}/.exec(text)?.[0] ?? '';
  const isName =
    letters.length === 3 || (/^[A-Z]{3,4}T$/.test(letters) && letters.length > 3) || letters === 'WITA';
  return isName ? letters : '';
};

const zoneName: Read = (text, fields) => {
  if (text.startsWith('UTC')) {
    fields.isUtc = true;
    return 3;
  }
  const name = abbreviation(text);
  if (name === '') return undefined;
  fields.zoneName = name;
  return name.length;
};

const READERS: Readonly<Record<string, Read>> = {
  '2006': (text, fields) => {
    if (!/^\d{4}/.test(text)) return undefined;
    fields.year = Number(text.slice(0, 4));
    return 4;
  },
  '06': (text, fields) => {
    if (!/^\d\d/.test(text)) return undefined;
    const year = Number(text.slice(0, 2));
    fields.year = year >= 69 ? 1900 + year : 2000 + year;
    return 2;
  },
  January: named(MONTHS, (fields, index) => {
    fields.month = index + 1;
  }),
  Jan: named(short(MONTHS), (fields, index) => {
    fields.month = index + 1;
  }),
  '01': digits(true, 1, 12, (fields, value) => {
    fields.month = value;
  }),
  '1': digits(false, 1, 12, (fields, value) => {
    fields.month = value;
  }),
  Monday: named(DAYS, () => undefined),
  Mon: named(short(DAYS), () => undefined),
  '2': digits(false, 0, 99, (fields, value) => {
    fields.day = value;
  }),
  _2: (text, fields, next) => {
    const skipped = text.startsWith(' ') ? 1 : 0;
    const length = READERS['2']?.(text.slice(skipped), fields, next);
    return length === undefined ? undefined : length + skipped;
  },
  '02': digits(true, 0, 99, (fields, value) => {
    fields.day = value;
  }),
  '002': yearDay(/^(\d{3})/),
  __2: yearDay(/^ {0,2}(\d{1,3})/),
  '15': digits(false, 0, 23, (fields, value) => {
    fields.hour = value;
  }),
  '3': digits(false, 0, 12, (fields, value) => {
    fields.hour = value;
  }),
  '03': digits(true, 0, 12, (fields, value) => {
    fields.hour = value;
  }),
  '4': digits(false, 0, 59, (fields, value) => {
    fields.minute = value;
  }),
  '04': digits(true, 0, 59, (fields, value) => {
    fields.minute = value;
  }),
  '5': second(false),
  '05': second(true),
  PM: half('AM', 'PM'),
  pm: half('am', 'pm'),
  MST: zoneName,
};

/** Matches literal text: a run of spaces matches any number of spaces, or the end of the text. */
const readText = (prefix: string, text: string): string | undefined => {
  let rest = text;
  for (const piece of prefix.match(/ +|[^ ]/gu) ?? []) {
    if (piece.startsWith(' ')) {
      if (rest !== '' && !rest.startsWith(' ')) return undefined;
      rest = rest.replace(/^ +/, '');
    } else {
      if (!rest.startsWith(piece)) return undefined;
      rest = rest.slice(piece.length);
    }
  }
  return rest;
};

const readFraction = (
  part: Extract<LayoutPart, { kind: 'fraction' }>,
  text: string,
  fields: Fields,
): number | undefined => {
  const found = /^[.,](\d+)/.exec(text);
  if (part.trim) {
    if (!found) return 0;
    fields.nanos = nanosOf(found[1] ?? '');
    return found[0].length;
  }
  const written = found?.[1] ?? '';
  if (written.length < part.digits) return undefined;
  fields.nanos = nanosOf(written.slice(0, part.digits));
  return part.digits + 1;
};

const midnight = (year: number, month: number, day: number): number =>
  new Date(0).setUTCFullYear(year, month - 1, day);

/** Month and day, checked against the calendar and against the day of the year if there is one. */
const monthAndDay = ({
  year,
  month,
  day,
  yearDay: number,
}: Fields): readonly [number, number] | undefined => {
  if (number !== undefined) {
    const date = new Date(midnight(year, 1, number));
    if (number < 1 || date.getUTCFullYear() !== year) return undefined;
    const found = [date.getUTCMonth() + 1, date.getUTCDate()] as const;
    return found[0] === (month ?? found[0]) && found[1] === (day ?? found[1]) ? found : undefined;
  }
  const [m, d] = [month ?? 1, day ?? 1];
  return d >= 1 && new Date(midnight(year, m, d)).getUTCMonth() === m - 1 && d <= 31 ? [m, d] : undefined;
};

const zoneOf = ({ isUtc, offset: seconds, zoneName: name }: Fields): Zone => {
  if (isUtc) return UTC;
  if (seconds !== undefined)
    return seconds === 0 && (name === undefined || name === 'UTC')
      ? UTC
      : { kind: 'fixed', name: name ?? '', offset: seconds };
  if (name === undefined) return UTC;
  return { kind: 'fixed', name, offset: name.startsWith('GMT') ? Number(name.slice(3)) * 3600 : 0 };
};

/** Reads a date in a Go layout; without a zone it is in UTC. Undefined when the text does not fit the layout. */
export const parseTime = (layout: string, text: string): Moment | undefined => {
  const fields: Fields = { year: 0, hour: 0, minute: 0, second: 0, nanos: 0 };
  const parts = parseLayout(layout);
  let rest = text;
  for (const [index, part] of parts.entries()) {
    if (part.kind === 'text') {
      const after = readText(part.text, rest);
      if (after === undefined) return undefined;
      rest = after;
      continue;
    }
    const length =
      part.kind === 'fraction'
        ? readFraction(part, rest, fields)
        : (READERS[part.text] ?? offset(part.text))(rest, fields, parts[index + 1]);
    if (length === undefined) return undefined;
    rest = rest.slice(length);
  }
  const date = rest === '' ? monthAndDay(fields) : undefined;
  if (!date) return undefined;
  const { hour, minute, second: seconds, nanos, half: part } = fields;
  const morning = part === 'am' && hour === 12 ? 0 : hour;
  const clockHour = part === 'pm' && hour < 12 ? hour + 12 : morning;
  const zone = zoneOf(fields);
  const shift = zone.kind === 'fixed' ? zone.offset : 0;
  const total = midnight(fields.year, ...date) / 1000 + clockHour * 3600 + minute * 60 + seconds - shift;
  return { nanos: BigInt(total) * SECOND + BigInt(nanos), zone };
};
