import { readFileSync } from 'node:fs';
import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';
import { type Document, isMap, isNode, LineCounter, parseDocument } from 'yaml';
import { FleetError, type Place, toFleetError } from '#bundles/errors';
import schema from '../../docs/schemas/agent-config.schema.json' with { type: 'json' };
import { type Config, DEFAULT_CONFIG_FILE } from './config.ts';

/** Keys given on the command line or in the environment: over the file, under nothing. */
export type Overrides = { readonly [Key in keyof Config]?: Config[Key] | undefined };

const ajv = new Ajv2020({ strict: true, allErrors: false });
let validator: ReturnType<typeof ajv.compile> | undefined;

const check = (value: unknown): ErrorObject | undefined => {
  validator ??= ajv.compile(schema);
  return validator(value) ? undefined : validator.errors?.[0];
};

const DEFAULTS = Object.fromEntries(
  Object.entries(schema.properties).map(([key, property]) => [key, property.default]),
) as unknown as Config;

/**
 * The file, then what flags and environment say over it, then the schema's defaults for the rest.
 * @param file undefined: the usual place, which may be empty @throws FleetError CONFIG_INVALID with file:line:column
 */
export const readConfig = (file: string | undefined, overrides: Overrides): Config => {
  const written = readFile(file);
  const given = Object.fromEntries(Object.entries(overrides).filter(([, value]) => value !== undefined));
  const wrong = check(given);
  if (wrong) {
    const key = keyOf(wrong);
    throw new FleetError('CONFIG_INVALID', sentence(wrong), {
      subject: `--${flagOf(key)} or FLEET_AGENT_${flagOf(key).replaceAll('-', '_').toUpperCase()}`,
    });
  }
  return { ...DEFAULTS, ...written, ...given };
};

/** pruneBudget -> prune-budget */
export const flagOf = (key: string): string =>
  key.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

const readFile = (file: string | undefined): Partial<Config> => {
  const path = file ?? DEFAULT_CONFIG_FILE;
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' && file === undefined) return {};
    if (code === 'ENOENT') throw new FleetError('CONFIG_INVALID', `there is no configuration file ${path}`);
    throw toFleetError(error, `reading ${path}`);
  }
  return parseConfig(path, text);
};

/** @throws FleetError CONFIG_INVALID */
export const parseConfig = (file: string, text: string): Partial<Config> => {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const place = (offset: number): Place => {
    const { line, col } = lines.linePos(offset);
    return { file, line, column: col };
  };
  const [broken] = document.errors;
  if (broken) {
    throw new FleetError('CONFIG_INVALID', `this is not YAML: ${broken.message}`, {
      at: place(broken.pos[0]),
    });
  }
  const value: unknown = document.toJS({ maxAliasCount: 0 }) ?? {};
  const wrong = check(value);
  if (!wrong) return value as Partial<Config>;
  throw new FleetError('CONFIG_INVALID', sentence(wrong), { at: place(offsetOf(document, wrong)) });
};

const sentence = (error: ErrorObject): string => {
  const { keyword, instancePath, params, message } = error;
  const key = instancePath.slice(1);
  if (keyword === 'additionalProperties') {
    const known = Object.keys(schema.properties).join(', ');
    return `there is no key ${JSON.stringify(params['additionalProperty'])}; there are ${known}`;
  }
  if (keyword === 'enum') {
    const allowed = (params['allowedValues'] as readonly unknown[]).join(', ');
    return `${key} must be one of ${allowed}`;
  }
  if (keyword === 'pattern') {
    if (params['pattern'] === '^/') return `${key} must be an absolute path, one that begins with /`;
    const { description } = schema.properties[keyOf(error) as keyof Config];
    return `${key} does not look right. ${description}`;
  }
  return `${key === '' ? 'the configuration' : key} ${message ?? 'does not fit'}`;
};

/** The key of the configuration: the error may be about one entry of its list. */
const keyOf = ({ instancePath }: ErrorObject): string => instancePath.split('/')[1] ?? '';

/** Where in the text the key that does not fit begins; of an unknown key, the key itself. */
const offsetOf = (document: Document, error: ErrorObject): number => {
  const { contents } = document;
  if (!isMap(contents)) return isNode(contents) ? (contents.range?.[0] ?? 0) : 0;
  const key = String(error.params['additionalProperty'] ?? error.instancePath.slice(1));
  const pair = contents.items.find((item) => isNode(item.key) && String(item.key) === key);
  const unknown = error.keyword === 'additionalProperties';
  const node = unknown ? pair?.key : (pair?.value ?? pair?.key);
  return isNode(node) ? (node.range?.[0] ?? 0) : 0;
};
