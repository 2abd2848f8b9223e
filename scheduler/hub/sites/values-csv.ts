import { compareBytes } from '#bundles/digest';
import { FleetError, type Place } from '#bundles/errors';
import { canonicalJson, type Json } from '#bundles/json/canonical';
import { parseName } from '#bundles/names';
import { atLine, formatCsv, readCsv } from './csv.ts';
import type { ListedSite } from './list-sites.ts';
import { parseValue, type ValueChange } from './set-values.ts';

/** A change with its line. */
export type PlacedChange = { readonly change: ValueChange; readonly at: Place };

type Values = Readonly<Record<string, unknown>>;

/**
 * Reads a CSV whose columns are `site`, optional `agent`, and names of values. A line with an agent sets its own values. An empty field
 * changes nothing, and a field as `sites export` writes the present value does neither.
 * @throws FleetError FIELD_INVALID, NAME_INVALID, NAME_CLASH, USAGE with the line
 */
export const readValuesCsv = (
  text: string,
  file: string,
  sites: readonly ListedSite[],
): readonly PlacedChange[] => {
  const [header, ...rows] = readCsv(text, file);
  const columns = header?.cells ?? [];
  const fault = (line: number, message: string, hint?: string): FleetError =>
    new FleetError('FIELD_INVALID', message, { at: { file, line, column: 1 }, hint });
  if (columns[0] !== 'site')
    throw fault(
      1,
      'the first column is not site',
      'Write site,agent,<name of a value>,... as sites export does',
    );
  const twice = columns.find((name, index) => columns.indexOf(name) < index);
  if (twice !== undefined) throw fault(1, `the column ${JSON.stringify(twice)} is there twice`);
  const bySite = new Map(sites.map((one) => [one.site, one]));
  const seen = new Map<string, number>();
  return rows.map(({ line, cells }) => {
    const at = { file, line, column: 1 };
    if (cells.length !== columns.length)
      throw fault(line, `${cells.length} fields, and the header has ${columns.length}`);
    return atLine(at, () => {
      const site = parseName(cells[0] ?? '', 'site');
      const named = columns[1] === 'agent' && cells[1] !== '' ? cells[1] : undefined;
      const agent = named === undefined ? undefined : parseName(named, 'agent');
      const who = agent === undefined ? site : `${site}/${agent}`;
      const before = seen.get(who);
      if (before !== undefined) throw new FleetError('NAME_CLASH', `${who} is in line ${before} already`);
      seen.set(who, line);
      const present = presentOf(bySite.get(site), agent);
      const set = columns.flatMap((name, index) => {
        const cell = cells[index] ?? '';
        const isKey = index === 0 || (index === 1 && name === 'agent');
        if (isKey || cell === '') return [];
        const [own, value] = parseValue(`${name}=${cell}`);
        return Object.hasOwn(present, own) && formatCell(present[own]) === cell
          ? []
          : [[own, value] as const];
      });
      return { at, change: { site, agent, set: Object.fromEntries(set), unset: [] } };
    });
  });
};

const presentOf = (site: ListedSite | undefined, agent: string | undefined): Values =>
  (agent === undefined ? site?.values : site?.agents.find((one) => one.agent === agent)?.values) ?? {};

/** The values of sites and agents as readValuesCsv reads them: a line for each site, and for each agent with values of its own. */
export const formatValuesCsv = (sites: readonly ListedSite[]): string => {
  const lines = sites.flatMap(({ site, values, agents }) => [
    { site, agent: '', values: values },
    ...agents.flatMap((one) =>
      one.revokedAt === null && Object.keys(one.values).length > 0
        ? [{ site, agent: one.agent, values: one.values }]
        : [],
    ),
  ]);
  const names = [...new Set(lines.flatMap(({ values }) => Object.keys(values)))].toSorted(compareBytes);
  return formatCsv([
    ['site', 'agent', ...names],
    ...lines.map(({ site, agent, values }) => [
      site,
      agent,
      ...names.map((name) => (Object.hasOwn(values, name) ? formatCell(values[name]) : '')),
    ]),
  ]);
};

// oxlint-disable-next-line no-control-regex -- these are the characters that are looked for
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/;

/** Text as it is, unless parseValue would read something else in it; everything else as JSON. */
const formatCell = (value: unknown): string => {
  if (typeof value !== 'string') return canonicalJson(value as Json, 'doubles');
  const [, read] = parseValueOrNone(value);
  const isPlain = read === value && value !== '' && value.trim() === value && !CONTROL.test(value);
  return isPlain ? value : JSON.stringify(value);
};

const parseValueOrNone = (text: string): readonly [string, Json | undefined] => {
  try {
    return parseValue(`x=${text}`);
  } catch {
    return ['x', undefined];
  }
};
