/** Parts of a Go date layout, which is an example date. */
export type LayoutPart =
  /** Literal text. */
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'part'; readonly text: PartName }
  /** A point or comma and the digits of a second; `trim` drops trailing zeros. */
  | {
      readonly kind: 'fraction';
      readonly text: string;
      readonly separator: string;
      readonly digits: number;
      readonly trim: boolean;
    };

/** Some parts begin with others, so the order matters: `2006` comes before `2`. */
const PARTS = [
  'January',
  'Jan',
  'Monday',
  'Mon',
  'MST',
  '002',
  '01',
  '02',
  '03',
  '04',
  '05',
  '06',
  '15',
  '1',
  '2006',
  '2',
  '_2',
  '__2',
  '3',
  '4',
  '5',
  'PM',
  'pm',
  '-070000',
  '-07:00:00',
  '-0700',
  '-07:00',
  '-07',
  'Z070000',
  'Z07:00:00',
  'Z0700',
  'Z07:00',
  'Z07',
] as const;

export type PartName = (typeof PARTS)[number];

const FRACTION = /[.,](?:0+|9+)(?![0-9])/y;

const partAt = (layout: string, at: number): PartName | undefined => {
  for (const part of PARTS) {
    if (!layout.startsWith(part, at)) continue;
    // The `Mon` of `Month` and the `Jan` of `Janus` are literal text.
    if ((part === 'Jan' || part === 'Mon') && /^[a-z]/.test(layout.slice(at + 3))) continue;
    // `_2006` is an underscore and a year.
    if (part === '_2' && layout.startsWith('006', at + 2)) continue;
    return part;
  }
  return undefined;
};

/** Splits a layout into its parts. */
export const parseLayout = (layout: string): readonly LayoutPart[] => {
  const parts: LayoutPart[] = [];
  let plain = 0;
  let at = 0;
  const push = (part: LayoutPart): void => {
    if (at > plain) parts.push({ kind: 'text', text: layout.slice(plain, at) });
    parts.push(part);
    at += part.text.length;
    plain = at;
  };
  while (at < layout.length) {
    const part = partAt(layout, at);
    FRACTION.lastIndex = at;
    const fraction = part === undefined ? FRACTION.exec(layout)?.[0] : undefined;
    if (part !== undefined) {
      push({ kind: 'part', text: part });
    } else if (fraction !== undefined) {
      const separator = fraction.slice(0, 1);
      push({
        kind: 'fraction',
        text: fraction,
        separator,
        digits: fraction.length - 1,
        trim: fraction[1] === '9',
      });
    } else {
      at += 1;
    }
  }
  if (at > plain) parts.push({ kind: 'text', text: layout.slice(plain) });
  return parts;
};

export const MONTHS = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
] as const;

export const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'] as const;
