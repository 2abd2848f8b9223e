import { broken } from './read-ar.ts';

/** The control data of a Debian package: its fields in order (deb-control(5)), with unchanged continuation lines. */
export type Control = {
  readonly package: string;
  readonly version: string;
  readonly architecture: string;
  readonly fields: readonly { readonly name: string; readonly value: string }[];
};

/** Fields of an index entry. A control file must not have them, because they could direct apt to another file. */
const INDEX_FIELDS = /^(?:filename|size|md5sum|sha1|sha256|sha512)$/i;

const RULES = {
  Package: /^[a-z0-9][a-z0-9+.-]{1,127}$/,
  Version: /^(?:[0-9]{1,9}:)?[0-9][A-Za-z0-9.+~-]{0,127}$/,
  Architecture: /^[a-z0-9][a-z0-9-]{0,63}$/,
} as const;

const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Parses exactly one paragraph: text after an empty line would be another package in an index.
 * @throws FleetError CONTENT_INVALID
 */
export const readControl = (bytes: Uint8Array): Control => {
  const text = decode(bytes).replace(/\n+$/, '');
  const fields: { name: string; value: string }[] = [];
  const seen = new Set<string>();
  for (const line of text.split('\n')) {
    const last = fields.at(-1);
    // oxlint-disable-next-line no-control-regex -- control characters are refused
    if (/[\u0000-\u0008\u000b-\u001f\u007f]/.test(line))
      throw broken('its control file has a control character');
    if (/^[ \t]*$/.test(line)) throw broken('its control file has more than one paragraph');
    if (/^[ \t]/.test(line)) {
      if (!last) throw broken('its control file begins in the middle of a field');
      last.value += `\n${line}`;
      continue;
    }
    const [, name, value] = /^([!"$-,.-9;-~][!-9;-~]*):[ \t]*(.*)$/.exec(line) ?? [];
    if (name === undefined || value === undefined)
      throw broken(`its control file has a line that is not a field: ${JSON.stringify(line.slice(0, 80))}`);
    if (seen.size === seen.add(name.toLowerCase()).size) throw broken(`its control file has ${name} twice`);
    if (INDEX_FIELDS.test(name)) throw broken(`its control file has ${name}, which only an index says`);
    fields.push({ name, value });
  }
  return {
    package: need(fields, 'Package'),
    version: need(fields, 'Version'),
    architecture: need(fields, 'Architecture'),
    fields,
  };
};

const decode = (bytes: Uint8Array): string => {
  try {
    return utf8.decode(bytes);
  } catch {
    throw broken('its control file is not UTF-8');
  }
};

const need = (fields: Control['fields'], name: keyof typeof RULES): string => {
  const value = fields.find((field) => field.name === name)?.value;
  if (value === undefined) throw broken(`its control file has no ${name}`);
  if (RULES[name].test(value)) return value;
  throw broken(`its ${name} ${JSON.stringify(value.slice(0, 80))} is not valid`);
};
