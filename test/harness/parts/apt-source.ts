import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { FleetError } from '../../../bundles/errors.ts';

/** The Debian mirror this machine already trusts. `signedBy` is the field as it stands: a keyring's path or a key. */
export type AptSource = { readonly uri: string; readonly signedBy: string | undefined };

/** The first Debian mirror among apt's sources under `etc`. TOOL_MISSING where there is none. */
export const readAptSource = (etc = '/etc'): AptSource => {
  const release = join(etc, 'os-release');
  const isDebian = existsSync(release) && /^ID="?debian"?$/m.test(readFileSync(release, 'utf8'));
  const source = isDebian ? aptFiles(etc).flatMap(parseSources)[0] : undefined;
  if (source === undefined)
    throw new FleetError('TOOL_MISSING', 'This machine has no Debian mirror among its apt sources.');
  return source;
};

/** A deb822 file with this one source, for another suite of the same mirror. */
export const formatAptSource = (source: AptSource, suite: string): string =>
  [
    'Types: deb',
    `URIs: ${source.uri}`,
    `Suites: ${suite}`,
    'Components: main',
    ...(source.signedBy === undefined ? [] : [`Signed-By: ${source.signedBy}`]),
    '',
  ].join('\n');

const aptFiles = (etc: string): readonly string[] => {
  const folder = join(etc, 'apt/sources.list.d');
  const names = existsSync(folder) ? readdirSync(folder).toSorted() : [];
  return [join(etc, 'apt/sources.list'), ...names.map((name) => join(folder, name))].filter(existsSync);
};

const parseSources = (file: string): readonly AptSource[] => {
  const text = readFileSync(file, 'utf8').replaceAll(/^#.*\n?/gm, '');
  if (file.endsWith('.sources')) return text.split(/\n\s*\n/).flatMap(parseStanza);
  return file.endsWith('.list') ? text.split('\n').flatMap(parseLine) : [];
};

/** deb822-style (sources.list(5)): fields, continued on lines that begin with a space. */
const parseStanza = (stanza: string): readonly AptSource[] => {
  const fields = new Map(
    Array.from(
      stanza.matchAll(/^([A-Za-z-]+):[ \t]*(.*(?:\n[ \t].*)*)$/gm),
      ([, name = '', value = '']) => [name.toLowerCase(), value.trimEnd()] as const,
    ),
  );
  const words = (name: string): readonly string[] => fields.get(name)?.split(/\s+/).filter(Boolean) ?? [];
  const usable =
    words('types').includes('deb') &&
    words('components').includes('main') &&
    words('suites').some((suite) => !suite.includes('-')) &&
    fields.get('enabled') !== 'no';
  const [uri] = words('uris');
  return usable && uri !== undefined ? [{ uri, signedBy: fields.get('signed-by') }] : [];
};

/** One-line style: deb [ option=value ... ] uri suite component ... */
const parseLine = (line: string): readonly AptSource[] => {
  const match = /^deb\s+(?:\[([^\]]*)\]\s+)?(\S+)\s+([^\s-]+)\s+(?:\S+\s+)*main\b/.exec(line.trim());
  if (match?.[2] === undefined) return [];
  return [{ uri: match[2], signedBy: /signed-by=(\S+)/.exec(match[1] ?? '')?.[1] }];
};
