/** A time zone. A fixed one has its offset in seconds east of Greenwich; its name may be empty. */
export type Zone =
  | { readonly kind: 'utc' }
  | { readonly kind: 'fixed'; readonly name: string; readonly offset: number }
  | { readonly kind: 'named'; readonly name: string };

export const UTC: Zone = { kind: 'utc' };

const formats = new Map<string, Intl.DateTimeFormat>();

/** Upper bound on cached zones; a platform uses a handful. */
const MAX_FORMATS = 64;

const formatOf = (name: string): Intl.DateTimeFormat => {
  const known = formats.get(name);
  if (known) return known;
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: name,
    timeZoneName: 'longOffset',
    era: 'short',
  });
  if (formats.size >= MAX_FORMATS) formats.clear();
  formats.set(name, format);
  return format;
};

/**
 * The zone with this name (`Europe/Berlin`) from the table of Node.js. An unknown name is UTC, as in sprig; so is `Local`,
 * because the result must not depend on the machine.
 */
export const zoneNamed = (name: string): Zone => {
  if (name === '' || name === 'UTC' || name === 'Local') return UTC;
  // Node.js accepts offsets as zones, Go does not.
  if (!/^[A-Z][A-Za-z0-9_+-]*(?:\/[A-Za-z0-9_+-]+)*$/.test(name)) return UTC;
  try {
    formatOf(name);
    return { kind: 'named', name };
  } catch {
    return UTC;
  }
};

/** Seconds east of Greenwich at a moment in milliseconds since 1970. */
export const offsetAt = (zone: Zone, moment: number): number => {
  switch (zone.kind) {
    case 'utc':
      return 0;
    case 'fixed':
      return zone.offset;
    case 'named': {
      const part = formatOf(zone.name)
        .formatToParts(moment)
        .find(({ type }) => type === 'timeZoneName');
      const [, sign = '+', hours = 0, minutes = 0, seconds = 0] =
        /([-+])(\d\d):(\d\d)(?::(\d\d))?/.exec(part?.value ?? '') ?? [];
      const total = Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds);
      return sign === '-' ? -total : total;
    }
  }
};
