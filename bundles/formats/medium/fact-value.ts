/** Octets of an Ethernet address (EUI-48), of an EUI-64, and of InfiniBand. */
const OCTETS: ReadonlySet<number> = new Set([6, 8, 20]);
/** Pairs with colons or dashes; groups of four or six digits with dots, colons or dashes; digits alone. */
const GROUPED =
  /^(?:[0-9a-f]{1,2}(?:(?::[0-9a-f]{1,2})+|(?:-[0-9a-f]{1,2})+)|[0-9a-f]{4}(?:(?:\.[0-9a-f]{4})+|(?::[0-9a-f]{4})+|(?:-[0-9a-f]{4})+)|[0-9a-f]{6}[-:.][0-9a-f]{6}|[0-9a-f]+)$/;

/**
 * Returns the value of a fact as the agent reports it: network addresses as 02:42:ac:11:00:02 and UUIDs in lower case with dashes,
 * from every usual spelling. Other facts are returned as they are. Returns undefined for a text that is no such value.
 */
export const factValue = (fact: string, text: string): string | undefined => {
  if (fact === 'mac') return macAddress(text);
  if (fact === 'uuid') return uuid(text);
  return text;
};

const macAddress = (text: string): string | undefined => {
  const lower = text.toLowerCase();
  if (!GROUPED.test(lower)) return undefined;
  const groups = lower.split(/[-:.]/);
  // Only octets may leave out their leading zero, as 2:42:ac:11:0:2.
  const digits = groups.length > 4 ? groups.map((group) => group.padStart(2, '0')).join('') : groups.join('');
  const octets = digits.match(/../g) ?? [];
  if (digits.length % 2 !== 0 || !OCTETS.has(octets.length) || /^0+$/.test(digits)) return undefined;
  // The lowest bit of the first octet marks the address of a group, which no interface has.
  if (octets.length === 6 && (Number.parseInt(octets[0], 16) & 1) === 1) return undefined;
  return octets.join(':');
};

const uuid = (text: string): string | undefined => {
  const digits = text.toLowerCase().replaceAll(/[{}-]/g, '');
  return /^[0-9a-f]{32}$/.test(digits)
    ? digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
    : undefined;
};
