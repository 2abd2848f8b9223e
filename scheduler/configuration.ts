import { readFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';
import { type Document, isMap, isNode, isScalar, LineCounter, type Node, parseDocument } from 'yaml';
import { FleetError, type Place, toFleetError } from '#bundles/errors';
import schema from '../docs/schemas/scheduler-config.schema.json' with { type: 'json' };
import { parseMap, type SourceMap } from './platform/sources/location.ts';
import { isRepositoryUrl } from './platform/sources/repository-url.ts';

/** Settings that a flag, an environment variable or the file may give. Paths, but `platform` may be a Git URL. */
export const SETTINGS = ['platform', 'keys', 'layout', 'db', 'cache'] as const;
export type Setting = (typeof SETTINGS)[number];

/** What was given on the command line or in the environment; oclif has merged the two. */
export type GivenSettings = { readonly [setting in Setting]?: string | undefined } & {
  /** --config: the file must then be there. */
  readonly config?: string | undefined;
  /** --map, repeatable: goes before those of the file. */
  readonly map?: readonly string[] | undefined;
};

export type Configuration = { readonly [setting in Setting]: string | undefined } & {
  /** The file that was read, if there was one. */
  readonly file: string | undefined;
  readonly maps: readonly SourceMap[];
};

export const CONFIGURATION_FILE = 'fleet-scheduler.yaml';
const MAX_BYTES = 1 << 20;

/**
 * Flags over environment over fleet-scheduler.yaml. Paths of the file are resolved against its folder, given ones
 * against `cwd`.
 * @throws FleetError CONFIG_INVALID with file:line:column, USAGE for a map that is none
 */
export const readConfiguration = async (given: GivenSettings, cwd: string): Promise<Configuration> => {
  const file = resolve(cwd, given.config ?? CONFIGURATION_FILE);
  const text = await readText(file, given.config !== undefined);
  const said = text === undefined ? {} : parseFile(file, text);
  const base = dirname(file);
  const pick = (setting: Setting): string | undefined => {
    const [value, folder] =
      given[setting] === undefined ? [said[setting], base] : ([given[setting], cwd] as const);
    if (value === undefined) return undefined;
    // An empty path would be the folder somebody happens to be in.
    if (value === '') throw isEmpty(setting);
    return setting === 'platform' && isRepositoryUrl(value) ? value : resolve(folder, value);
  };
  return {
    file: text === undefined ? undefined : file,
    platform: pick('platform'),
    keys: pick('keys'),
    layout: pick('layout'),
    db: pick('db'),
    cache: pick('cache'),
    maps: [...readMaps(given.map ?? [], cwd), ...readMaps(said.maps ?? [], base)],
  };
};

/** A setting that the command cannot do without. @throws FleetError USAGE */
export const requireSetting = (configuration: Configuration, setting: Setting): string => {
  const value = configuration[setting];
  if (value !== undefined) return value;
  throw new FleetError('USAGE', `it is not said where the ${NAMES[setting]} is`, {
    hint: `Give --${setting}, set FLEET_${setting.toUpperCase()}, or write ${setting}: into ${CONFIGURATION_FILE}`,
  });
};

const isEmpty = (setting: Setting): FleetError =>
  new FleetError('USAGE', `--${setting} is empty`, {
    hint: `Say where the ${NAMES[setting]} is; FLEET_${setting.toUpperCase()} counts too`,
  });

const NAMES: Readonly<Record<Setting, string>> = {
  platform: 'platform repository',
  keys: 'key directory',
  layout: 'OCI layout',
  db: "hub's database",
  cache: 'cache directory',
};

const readMaps = (texts: readonly string[], folder: string): readonly SourceMap[] =>
  texts.map(parseMap).map((map) => ({ ...map, directory: resolve(folder, map.directory) }));

const readText = async (file: string, mustExist: boolean): Promise<string | undefined> => {
  try {
    const bytes = await readFile(file);
    if (bytes.byteLength <= MAX_BYTES) return bytes.toString('utf8');
    throw invalid(`the configuration has more than ${MAX_BYTES} bytes`, { file });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
      throw toFleetError(error, `reading ${join(file)}`);
    if (mustExist) throw invalid('there is no such file', { file });
    return undefined;
  }
};

type FileSettings = { readonly [setting in Setting]?: string } & { readonly maps?: readonly string[] };

const validate = new Ajv2020({ strict: true }).compile<FileSettings>(schema);

const parseFile = (file: string, text: string): FileSettings => {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const placeAt = (offset: number): Place => {
    const { line, col } = lines.linePos(offset);
    return { file, line, column: col };
  };
  const [mistake] = document.errors;
  if (mistake) {
    throw invalid(
      `this is not YAML: ${mistake.message.split('\n')[0] ?? mistake.code}`,
      placeAt(mistake.pos[0]),
    );
  }
  const value: unknown = document.toJS({ maxAliasCount: 100 }) ?? {};
  if (validate(value)) return value;
  const [error] = validate.errors ?? [];
  const node = error && nodeOf(document, error);
  throw invalid(describe(error), node?.range ? placeAt(node.range[0]) : { file, line: 1, column: 1 });
};

/** The key of a foreign field, the value of any other mistake. */
const nodeOf = (document: Document, error: ErrorObject): Node | undefined => {
  if (error.keyword === 'additionalProperties' && isMap(document.contents)) {
    const pair = document.contents.items.find(
      ({ key }) => isScalar(key) && key.value === error.params['additionalProperty'],
    );
    return isNode(pair?.key) ? pair.key : undefined;
  }
  const path = error.instancePath
    .split('/')
    .slice(1)
    .map((part) => (/^\d+$/.test(part) ? Number(part) : part));
  const node = document.getIn(path, true);
  return isNode(node) ? node : (document.contents ?? undefined);
};

const describe = (error: ErrorObject | undefined): string => {
  if (error?.keyword === 'additionalProperties')
    return `there is no setting ${JSON.stringify(error.params['additionalProperty'])}; it may have ${SETTINGS.join(', ')}, maps`;
  const where = error?.instancePath.slice(1).replaceAll('/', '.') || 'the file';
  if (error?.keyword === 'pattern') return `${where} is not <url>[#branch]=<directory>`;
  return `${where} ${error?.message ?? 'does not fit its schema'}`;
};

const invalid = (message: string, at: Place): FleetError => new FleetError('CONFIG_INVALID', message, { at });
