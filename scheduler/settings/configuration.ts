import { dirname, resolve } from 'node:path';
import { defined } from '#bundles/defined';
import { FleetError, type Place, toFleetError } from '#bundles/errors';
import { readTrustedFile } from '#bundles/read-trusted-file';
import { nearestName } from '#bundles/nearest-name';
import { parseSettings, settingMistakes, settingPlace } from '#cli/parse-settings';
import { wordList } from '#cli/word-list';
import { parseRegistryAddress } from '#bundles/transport/registry/registry-address';
import type { Mistake } from '#bundles/json/schema/check-for';
import { parseRecipient } from '#bundles/trust/age/recipient';
import { schemaOf } from '#bundles/json/schema/schema-of';
import { SCHEDULER_CONFIG } from '#bundles/json/schema/validators';
import type { SchedulerConfig } from '#bundles/schemas/types/scheduler-config';
import { parseMap, type SourceMap } from '../model/location.ts';
import { isRepositoryUrl } from '../model/repository-url.ts';
import { type AlarmSettings, readAlarmSettings } from './alarm-settings.ts';
import { readValuesReview, type ValuesReview } from './values-review.ts';
import { type Allowance, parseAllowance } from './allowance.ts';
import { isDatabaseUrl } from './database-url.ts';
import { flagOf, SETTING_NAMES, SETTINGS, type Setting, variableOf } from './settings.ts';

/** Values from the command line or the environment, by flag name; oclif has merged the two. */
export type GivenSettings = {
  /** --config: the file must exist. */
  readonly config?: string | undefined;
  /** --map, repeatable: takes precedence over the maps of the file. */
  readonly map?: readonly string[] | undefined;
  /** --environment and --plain-http, repeatable: replace the values of the file. */
  readonly environment?: readonly string[] | string | undefined;
  readonly 'plain-http'?: readonly string[] | string | undefined;
  /** --allow-removals, repeatable: replaces the value of the file. */
  readonly 'allow-removals'?: readonly string[] | string | undefined;
  /** --hostname, repeatable: replaces the value of the file. */
  readonly hostname?: readonly string[] | string | undefined;
  readonly [flag: string]: unknown;
};

export type Configuration = { readonly [setting in Setting]: string | undefined } & {
  /** Absolute path of the file that was read; undefined without one. */
  readonly file: string | undefined;
  readonly maps: readonly SourceMap[];
  /** Environments to build; undefined: all. */
  readonly environments: readonly string[] | undefined;
  /** Registries, host[:port], that may be accessed without TLS. */
  readonly plainHttp: readonly string[];
  /** Pull images that are in no layout from the registries in their names. */
  readonly pullImages: boolean;
  /** Packages that a release may remove without a deleted object. */
  readonly allowRemovals: Allowance;
  /** Propose rendered trees on a separate branch. */
  readonly treePullRequest: boolean;
  /** Write a folder for each cluster that follows by Flux or Argo CD, beside those of cluster types. */
  readonly treeClusters: boolean;
  /** Sign commits with git's own settings. */
  readonly signCommits: boolean;
  /** Names and addresses in the hub's certificate; undefined: this machine's. */
  readonly hostnames: readonly string[] | undefined;
  /** age recipient that every secret set is encrypted to, in addition to the site's agents. */
  readonly escrow: string | undefined;
  /** Limits for requests of one agent to the hub; an absent one is the hub's default. */
  readonly agentQuota: SchedulerConfig['agentQuota'];
  /** How people sign in at the page; undefined: with tokens only. File names are absolute. */
  readonly signIn: SignIn | undefined;
  readonly roles: SchedulerConfig['roles'];
  /** How many people approve changes of the values of sites; undefined: nobody has to. */
  readonly siteValues: ValuesReview | undefined;
  /** undefined: no commit statuses are set. */
  readonly commitStatuses: CommitStatuses | undefined;
  /** undefined: alarms are not sent. */
  readonly alarms: AlarmSettings | undefined;
  /** Use of a machine's facts at its enrolment. */
  readonly factLabels: readonly FactLabel[] | undefined;
};

/** A fact of a machine that becomes a label of its agent. */
export type FactLabel = NonNullable<SchedulerConfig['factLabels']>[number];

/** The OIDC provider that people sign in at, and how long they stay signed in. */
export type SignIn = NonNullable<SchedulerConfig['signIn']>;

/** Where `serve` says beside commits what became of them. */
export type CommitStatuses = NonNullable<SchedulerConfig['commitStatuses']>;

export const CONFIGURATION_FILE = 'fleet-scheduler.yaml';
const MAX_BYTES = 1 << 20;

/**
 * Reads the configuration: flags override the environment, which overrides fleet-scheduler.yaml. Paths in the file are
 * resolved against its folder, others against `cwd`.
 * @throws FleetError CONFIG_INVALID with file:line:column, PERMISSION where others can change the file, USAGE for an empty setting or an invalid map, KEY_FORMAT for the
 * escrow
 */
export const readConfiguration = async (given: GivenSettings, cwd: string): Promise<Configuration> => {
  const file = resolve(cwd, given.config ?? CONFIGURATION_FILE);
  const text = readText(file, given.config !== undefined);
  const said: SchedulerConfig =
    text === undefined ? {} : parseSettings(SCHEDULER_CONFIG, file, text, describeMistake);
  const base = dirname(file);
  const pick = (setting: Setting): string | undefined => {
    const value = given[flagOf(setting)];
    const [text, folder] =
      typeof value === 'string' ? ([value, cwd] as const) : ([said[setting], base] as const);
    if (text === undefined) return undefined;
    // An empty path would resolve to the current folder.
    if (text === '') throw isEmpty(setting);
    return isText(setting, text) ? text : resolve(folder, text);
  };
  const picked = SETTING_NAMES.map((setting) => [setting, pick(setting)] as const);
  // The schema checks the file. A flag or variable without oci:// would otherwise be read as a folder.
  const registry = pick('registry');
  if (registry !== undefined) parseRegistryAddress(registry);
  return {
    ...(Object.fromEntries(picked) as { readonly [setting in Setting]: string | undefined }),
    // The variable of platforms that provide a database. Other programs read it too, so it counts last.
    db: pick('db') ?? [process.env.DATABASE_URL ?? ''].find(isDatabaseUrl),
    file: text === undefined ? undefined : file,
    maps: [...readMaps(given.map ?? [], cwd), ...readMaps(said.maps ?? [], base)],
    environments: wordList(given.environment, ',') ?? said.environments,
    plainHttp: wordList(given['plain-http'], ',') ?? said.plainHttp ?? [],
    pullImages: given['pull-images'] === true || said.pullImages === true,
    allowRemovals: parseAllowance(
      wordList(given['allow-removals'], ',') ?? [said.allowRemovals ?? []].flat(),
    ),
    treePullRequest: given['tree-pull-request'] === true || said.treePullRequest === true,
    treeClusters: said.treeClusters === true,
    signCommits: given['sign-commits'] === true || said.signCommits === true,
    hostnames: wordList(given.hostname, ',') ?? said.hostnames,
    ...onlyInFile(said, base, file),
  };
};

type OnlyInFile = Pick<
  Configuration,
  'agentQuota' | 'alarms' | 'factLabels' | 'roles' | 'siteValues' | 'signIn' | 'commitStatuses' | 'escrow'
>;

/** The settings that no flag or variable overrides. */
const onlyInFile = (said: SchedulerConfig, base: string, file: string): OnlyInFile => ({
  agentQuota: said.agentQuota,
  alarms: said.alarms && readAlarmSettings(said.alarms, base, (path) => placeOfSetting(file, path)),
  factLabels: said.factLabels,
  roles: said.roles,
  siteValues: said.siteValues && readValuesReview(said.siteValues),
  signIn: said.signIn && signInBelow(base, said.signIn),
  commitStatuses: said.commitStatuses && statusesBelow(base, said.commitStatuses),
  escrow:
    said.secrets?.escrow === undefined
      ? undefined
      : parseRecipient(said.secrets.escrow, 'secrets.escrow', placeOfSetting(file, ['secrets', 'escrow'])),
});

/**
 * The first mistake of each setting of the file, where readConfiguration throws the first of all. Empty without a file.
 * @throws FleetError CONFIG_INVALID for a file that is missing or is not YAML, PERMISSION
 */
export const findMistakes = (given: Pick<GivenSettings, 'config'>, cwd: string): readonly FleetError[] => {
  const file = resolve(cwd, given.config ?? CONFIGURATION_FILE);
  const text = readText(file, given.config !== undefined);
  return text === undefined ? [] : mistakesIn(text, file);
};

/** The same for a text that is in no file. @param file its name in places */
export const mistakesIn = (text: string, file = CONFIGURATION_FILE): readonly FleetError[] =>
  settingMistakes(SCHEDULER_CONFIG, file, text, describeMistake);

/** Where the file has a setting, or the nearest one above it. */
export const placeOfSetting = (file: string, path: readonly (string | number)[]): Place =>
  settingPlace(file, readText(file, false) ?? '', path);

/** The settings of the sign-in, with files resolved against the folder of the configuration. */
const signInBelow = (base: string, signIn: SignIn): SignIn => {
  const { clientSecretFile, caFile } = signIn;
  return {
    ...signIn,
    ...defined({
      clientSecretFile: clientSecretFile === undefined ? undefined : resolve(base, clientSecretFile),
      caFile: caFile === undefined ? undefined : resolve(base, caFile),
    }),
  };
};

const statusesBelow = (base: string, statuses: CommitStatuses): CommitStatuses => ({
  ...statuses,
  forges: statuses.forges.map((forge) => ({ ...forge, tokenFile: resolve(base, forge.tokenFile) })),
});

/** A setting that the command requires. @throws FleetError USAGE */
export const requireSetting = (configuration: Configuration, setting: Setting): string => {
  const value = configuration[setting];
  if (value !== undefined) return value;
  throw new FleetError('USAGE', `the ${SETTINGS[setting].what} is not configured`, {
    hint: `Give --${flagOf(setting)}, set ${variableOf(setting)}, or write ${setting}: into ${CONFIGURATION_FILE}`,
  });
};

/** Does the value stay unchanged, rather than being the path of a file or folder? */
const isText = (setting: Setting, value: string): boolean => {
  const { kind } = SETTINGS[setting];
  if (kind === 'text') return true;
  return (kind === 'repository' && isRepositoryUrl(value)) || (kind === 'database' && isDatabaseUrl(value));
};

const isEmpty = (setting: Setting): FleetError =>
  new FleetError('USAGE', `--${flagOf(setting)} is empty`, {
    hint: `Say where the ${SETTINGS[setting].what} is; ${variableOf(setting)} counts too`,
  });

const readMaps = (texts: readonly string[], folder: string): readonly SourceMap[] =>
  texts
    .map(parseMap)
    .map((map) => ('directory' in map ? { ...map, directory: resolve(folder, map.directory) } : map));

const noSuchFile = (file: string): FleetError =>
  new FleetError('CONFIG_INVALID', 'there is no such file', {
    at: { file },
    hint: 'Write it, or name another one with --config; its keys are in docs/reference/configuration.md, and the Debian package has an example in /usr/share/doc/fleet-scheduler/examples',
  });

const readText = (file: string, mustExist: boolean): string | undefined => {
  try {
    const bytes = readTrustedFile(file);
    if (bytes.byteLength <= MAX_BYTES) return bytes.toString('utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw toFleetError(error, `reading ${file}`);
    if (mustExist) throw noSuchFile(file);
    return undefined;
  }
  throw invalid(`the configuration has more than ${MAX_BYTES} bytes`, { file });
};

const describeMistake = ({ keyword, instancePath, params, message }: Mistake): string => {
  const where = instancePath.slice(1).replaceAll('/', '.') || 'the file';
  if (params.additionalProperty !== undefined)
    return noSetting(params.additionalProperty, instancePath.split('/').slice(1));
  if (keyword === 'pattern') return `${where} is not ${SHAPES[where.split('.')[0] ?? ''] ?? 'written so'}`;
  if (keyword === 'oneOf' && where.startsWith('alarms'))
    return `${where} must have one of webhook, email and alertmanager`;
  return `${where} ${message}`;
};

const noSetting = (name: string, path: readonly string[]): string => {
  const known = Object.keys(partOf(schemaOf('scheduler-config'), path)?.properties ?? {});
  const meant = nearestName(name, known);
  const others = known.length === 0 ? 'remove it' : `it may have ${known.join(', ')}`;
  const of = path.length === 0 ? 'there is' : `${path.join('.')} has`;
  return `${of} no setting ${JSON.stringify(name)}; ${meant === undefined ? others : `did you mean ${meant}?`}`;
};

type SchemaPart = {
  readonly properties?: Readonly<Record<string, SchemaPart>>;
  readonly items?: SchemaPart;
};

/** The part of a schema for the setting at a path; undefined below choices and mappings of any name. */
const partOf = (schema: SchemaPart, path: readonly string[]): SchemaPart | undefined =>
  path.reduce<SchemaPart | undefined>((part, name) => part?.properties?.[name] ?? part?.items, schema);

/** Descriptions of the schema's patterns, for messages. */
const SHAPES: Readonly<Record<string, string>> = {
  maps: '<url>[#branch]=<directory or url#ref>',
  registry: 'oci://host[:port][/prefix]',
  tree: 'gitops or git+<URL>[#branch]',
  forge: 'github, gitea, gitlab or azure, with =<address of its API> where that is not the usual one',
  committer: 'a name and an address, like Fleet Ferry <fleet-ferry@example.com>',
  poll: 'a number and s, m or h, like 30s',
  retention: 'a number of days from 30d on',
  environments: 'a DNS label',
  commitStatuses:
    'a host name, a kind of forge with =<address of its API>, or an address with http:// or https://',
  alarms:
    'written so: names are DNS labels, addresses begin with http:// or https://, mail servers with smtp:// or smtps://, intervals are like 30m or 24h',
  listen: '<host>:<port>, like 0.0.0.0:8443',
  signIn: 'an address with https:// (http:// at loopback only); publicUrl has no path',
  roles: 'a DNS label',
  secrets: 'an age recipient, age1 and 58 more letters and digits',
};

const invalid = (message: string, at: Place): FleetError => new FleetError('CONFIG_INVALID', message, { at });
