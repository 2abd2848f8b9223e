import { compareBytes } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { factValue } from '#bundles/formats/medium/fact-value';
import type { HostLine } from '#bundles/formats/medium/hosts';
import { didYouMean } from '#bundles/nearest-name';
import { formatChannel, parseChannel, parseName } from '#bundles/names';
import type { Labels } from '../agent-record.ts';
import { atLine } from '../csv.ts';

/** A line of the office's CSV: a host that is to get a token. */
export type CsvHost = Omit<HostLine, 'token'> & {
  readonly labels: Labels | undefined;
  readonly line: number;
};

const REQUIRED = ['site', 'name', 'channel'] as const;
const LABEL = 'label.';
/** Facts that an agent knows of its machine; 'mac' is any one of its network interfaces. */
const FACTS: ReadonlySet<string> = new Set(
  (
    'serial uuid mac assetTag boardSerial hostname vendor model architecture ' +
    'macs disks memoryMib cpus osId osVersion osCodename kernel'
  ).split(' '),
);
const MAX_HOSTS = 10_000;

/**
 * Reads a CSV with a header: `site`, `name`, `channel`, optional `match` (`serial=PX-4711`, several with spaces between) and
 * `label.<name>`. Fields are separated by commas or, as some spreadsheets do, by semicolons. Without `match` a line is for the host of
 * its name.
 * @throws FleetError FIELD_INVALID, NAME_INVALID, NAME_CLASH with the line
 */
export const readHostsCsv = (text: string, file: string): readonly CsvHost[] => {
  const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/);
  const separator = (lines[0] ?? '').includes(';') ? ';' : ',';
  const fault = (line: number, message: string, hint?: string): FleetError =>
    new FleetError('FIELD_INVALID', message, { at: { file, line, column: 1 }, hint });
  const columns = cells(lines[0] ?? '', separator);
  const missing = REQUIRED.find((name) => !columns.includes(name));
  if (missing !== undefined)
    throw fault(1, `the header has no column ${missing}`, 'Write site,name,channel,match,label.<name>');
  const unknown = columns.find(
    (name) => !(REQUIRED as readonly string[]).includes(name) && name !== 'match' && !name.startsWith(LABEL),
  );
  if (unknown !== undefined)
    throw fault(
      1,
      `there is no column ${JSON.stringify(unknown)}`,
      'Columns are site, name, channel, match and label.<name>',
    );
  const hosts = lines.slice(1).flatMap((text, index): readonly CsvHost[] => {
    const line = index + 2;
    if (text.trim() === '') return [];
    if (text.includes('"'))
      throw fault(line, 'quoted fields are not read', 'No field needs quotes: leave them out');
    const values = cells(text, separator);
    if (values.length !== columns.length)
      throw fault(line, `${values.length} fields, and the header has ${columns.length}`);
    const row = new Map(columns.map((name, at) => [name, values[at] ?? '']));
    return [atLine({ file, line, column: 1 }, () => readRow(row, line))];
  });
  if (hosts.length === 0) throw fault(1, 'there is no host in the file');
  if (hosts.length > MAX_HOSTS) throw fault(MAX_HOSTS + 2, `at most ${MAX_HOSTS} hosts are read`);
  refuseTwice(hosts, file, ({ site, agent }) => `${site}/${agent}`);
  // Agents compare without regard to the case of letters.
  refuseTwice(hosts, file, ({ match }) => JSON.stringify(match).toLowerCase());
  return hosts;
};

const cells = (line: string, separator: string): readonly string[] =>
  line.split(separator).map((cell) => cell.trim());

const readRow = (row: ReadonlyMap<string, string>, line: number): CsvHost => {
  const agent = parseName(row.get('name') ?? '', 'agent');
  const labels = [...row].flatMap(([name, value]) =>
    name.startsWith(LABEL) && value !== '' ? [[name.slice(LABEL.length), value] as const] : [],
  );
  return {
    site: parseName(row.get('site') ?? '', 'site'),
    agent,
    channel: parseChannel(row.get('channel') ?? ''),
    match: readMatch(row.get('match') ?? '') ?? { hostname: agent },
    labels: labels.length === 0 ? undefined : Object.fromEntries(labels),
    line,
  };
};

/** 'serial=PX-4711 mac=02:...', with values as agents report them. undefined for an empty field. */
const readMatch = (text: string): HostLine['match'] | undefined => {
  const pairs = text.split(/\s+/).filter((pair) => pair !== '');
  if (pairs.length === 0) return undefined;
  const match = new Map<string, string>();
  for (const pair of pairs) {
    const [fact, value] = readPair(pair);
    if (match.has(fact)) throw new FleetError('FIELD_INVALID', `the line has the fact ${fact} twice`);
    match.set(fact, value);
  }
  return Object.fromEntries([...match].toSorted(([a], [b]) => compareBytes(a, b)));
};

const readPair = (pair: string): readonly [fact: string, value: string] => {
  const at = pair.indexOf('=');
  const [fact, text] = [pair.slice(0, at), pair.slice(at + 1)];
  if (at < 1 || text === '')
    throw new FleetError('FIELD_INVALID', `${JSON.stringify(pair.slice(0, 80))} is not <fact>=<value>`, {
      hint: 'Facts are serial, uuid, mac, assetTag, hostname ...',
    });
  if (!FACTS.has(fact))
    throw new FleetError('FIELD_INVALID', `no agent knows a fact ${JSON.stringify(fact.slice(0, 40))}`, {
      hint: `${didYouMean(fact, FACTS) ?? ''}Facts are serial, uuid, mac, assetTag, hostname ...`,
    });
  const value = factValue(fact, text);
  if (value !== undefined) return [fact, value];
  throw new FleetError(
    'FIELD_INVALID',
    `${JSON.stringify(text.slice(0, 80))} is not a ${WHAT[fact] ?? fact}`,
    {
      hint: HINTS[fact],
    },
  );
};

const WHAT: Readonly<Record<string, string>> = { mac: 'MAC address of a network interface', uuid: 'UUID' };
const HINTS: Readonly<Record<string, string>> = {
  mac: 'Write it like 02:42:ac:11:00:02; dashes, dots and capital letters are read too',
  uuid: 'Write it as /sys/class/dmi/id/product_uuid has it: 32 hex digits with dashes',
};

const refuseTwice = (hosts: readonly CsvHost[], file: string, keyOf: (host: CsvHost) => string): void => {
  const seen = new Map<string, number>();
  for (const host of hosts) {
    const key = keyOf(host);
    const before = seen.get(key);
    if (before !== undefined)
      throw new FleetError('NAME_CLASH', `${key} is in line ${before} already`, {
        at: { file, line: host.line, column: 1 },
      });
    seen.set(key, host.line);
  }
};

/** Of all channels of the file, for a check against what was released. */
export const channelsOf = (hosts: readonly CsvHost[]): readonly CsvHost['channel'][] => [
  ...new Map(hosts.map(({ channel }) => [formatChannel(channel), channel])).values(),
];
