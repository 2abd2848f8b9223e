import { dirname, resolve } from 'node:path';
import { FleetError, toFleetError } from '#bundles/errors';
import { nearestName } from '#bundles/nearest-name';
import { readTrustedFile } from '#bundles/read-trusted-file';
import { parseSettings } from '#cli/parse-settings';
import { checkFor, type Mistake } from '#bundles/json/schema/check-for';
import { AGENT_CONFIG } from '#bundles/json/schema/validators';
import schema from '#bundles/schemas/agent-config.schema.json' with { type: 'json' };
import { type Config, DEFAULT_CONFIG_FILE } from './config.ts';

/** Keys from the command line or environment, which override the file. */
export type Overrides = { readonly [Key in keyof Config]?: Config[Key] | undefined };

const check = checkFor(AGENT_CONFIG);

const DEFAULTS = Object.fromEntries(
  Object.entries(schema.properties).map(([key, property]) => [key, property.default]),
) as unknown as Config;

/**
 * Reads the configuration: overrides take precedence over the file, and the schema's defaults apply to the rest.
 * @param file undefined: the default path, which need not exist @throws FleetError CONFIG_INVALID with file:line:column, PERMISSION where others can change it
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

/** Keys that may be relative to the file; the others are absolute by the schema. */
const PATHS = ['kubeconfig', 'caFile', 'authFile'] as const;

const readFile = (file: string | undefined): Partial<Config> => {
  const path = file ?? DEFAULT_CONFIG_FILE;
  let text: string;
  try {
    text = readTrustedFile(path).toString('utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' && file === undefined) return {};
    if (code === 'ENOENT')
      throw new FleetError('CONFIG_INVALID', `there is no configuration file ${path}`, {
        hint: 'Name another one with --config, or create it',
      });
    throw toFleetError(error, `reading ${path}`);
  }
  const written = parseConfig(path, text);
  // Relative paths are resolved against the file, independent of the working directory.
  const paths = PATHS.map((key) => [key, written[key]] as const).filter(([, value]) => Boolean(value));
  return {
    ...written,
    ...Object.fromEntries(paths.map(([key, value]) => [key, resolve(dirname(path), value ?? '')])),
  };
};

/** @throws FleetError CONFIG_INVALID */
export const parseConfig = (file: string, text: string): Partial<Config> =>
  parseSettings(AGENT_CONFIG, file, text, sentence);

const sentence = (mistake: Mistake): string => {
  const { keyword, instancePath, params, message } = mistake;
  const key = instancePath.slice(1);
  if (params.additionalProperty !== undefined) {
    const known = Object.keys(schema.properties);
    const meant = nearestName(params.additionalProperty, known);
    const others = meant === undefined ? `there are ${known.join(', ')}` : `did you mean ${meant}?`;
    return `there is no key ${JSON.stringify(params.additionalProperty)}; ${others}`;
  }
  if (params.allowedValues) return `${key} must be one of ${params.allowedValues.join(', ')}`;
  if (keyword === 'pattern') {
    if (params.pattern === '^/') return `${key} must be an absolute path, one that begins with /`;
    const { description } = schema.properties[keyOf(mistake) as keyof Config];
    return `${key} is not valid. ${description}`;
  }
  return `${key === '' ? 'the configuration' : key} ${message}`;
};

/** The top-level key that an error is about, also for an error in one entry of a list. */
const keyOf = ({ instancePath }: Mistake): string => instancePath.split('/')[1] ?? '';
