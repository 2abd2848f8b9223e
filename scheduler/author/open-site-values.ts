import { canonicalJson, type Json } from '#bundles/json/canonical';
import { isRecord } from '#bundles/is-record';
import { isSameJson } from '#bundles/json/is-same-json';
import { FleetError } from '#bundles/errors';
import type { Forge } from '../deliver/git/forge/forge.ts';
import { type OpenChange, openChanges, type OpenEdit } from '../deliver/git/open-edits.ts';
import type { Git } from '../load/sources/run-git.ts';
import { branchOf } from './save/save-edit.ts';
import type { Layer } from './place/layer.ts';
import { siteConfigs, type SiteValuesEdit } from './plan-site-values.ts';

/** A value of sites that an open proposal changes. */
export type OpenSiteValue = Pick<OpenEdit, 'branch' | 'at' | 'pullRequest'> & {
  /** undefined: of all. */
  readonly environment: string | undefined;
  readonly siteSelector: Readonly<Record<string, string>>;
  readonly name: string;
  /** undefined: it removes the value. */
  readonly value: Json | undefined;
  readonly person: string;
};

type Reading = {
  readonly git: Git;
  readonly cacheDirectory: string;
  /** Of a repository; undefined: none answers for it. */
  readonly forgeOf: (repo: string) => Promise<Forge | undefined>;
};

/**
 * The values of sites that open proposals change, in Configs with a selector of sites alone. Proposals for repositories without a forge count until their
 * files are there. A file that is not YAML changes nothing here.
 * @throws FleetError as openChanges
 */
export const openSiteValues = async (
  layers: readonly Layer[],
  { git, cacheDirectory, forgeOf }: Reading,
): Promise<readonly OpenSiteValue[]> => {
  const found: OpenSiteValue[] = [];
  const known = new Map<string, readonly OpenChange[]>();
  for (const { location, folder, environment, name } of layers) {
    if (location.kind === 'directory' || name === 'root' || name === 'promotion') continue;
    const { repo, revision } = location;
    const branch = await branchOf(git, repo, revision);
    const key = `${repo} ${branch}`;
    if (!known.has(key)) {
      await using forge = await forgeOf(repo);
      known.set(key, await openChanges({ git, repo, branch, cacheDirectory }, forge));
    }
    const below = folder === '.' ? '' : `${folder}/`;
    found.push(...(known.get(key) ?? []).flatMap((one) => valuesOf(one, below, environment)));
  }
  return found;
};

const valuesOf = (
  { author: person, branch, at, pullRequest, files }: OpenChange,
  below: string,
  environment: string | undefined,
): readonly OpenSiteValue[] =>
  files.flatMap(({ path, before, after }) => {
    if (!path.startsWith(below)) return [];
    const [old, next] = [readConfigs(before), readConfigs(after)];
    return [...new Map([...old, ...next])].flatMap(([key, { siteSelector }]) => {
      const [was, is] = [old.get(key)?.values ?? {}, next.get(key)?.values ?? {}];
      return [...new Set([...Object.keys(was), ...Object.keys(is)])]
        .filter((name) => !isSameJson(valueIn(was, name), valueIn(is, name)))
        .map((name) => {
          const value = valueIn(is, name);
          return { branch, at, pullRequest, environment, siteSelector, name, value, person };
        });
    });
  });

const valueIn = (values: Readonly<Record<string, unknown>>, name: string): Json | undefined =>
  Object.hasOwn(values, name) ? (values[name] as Json) : undefined;

type Configs = ReadonlyMap<string, ReturnType<typeof siteConfigs>[number][1]>;

const readConfigs = (text: string | undefined): Configs => {
  if (text === undefined) return new Map();
  try {
    return new Map(siteConfigs(text).filter(([, config]) => isWellFormed(config)));
  } catch {
    return new Map();
  }
};

/** Whether values and selector are what a Config may have. @throws Error for values that JSON has not */
const isWellFormed = ({ siteSelector, values }: ReturnType<typeof siteConfigs>[number][1]): boolean => {
  canonicalJson(values as Json, 'doubles');
  return isRecord(siteSelector) && Object.values(siteSelector).every((value) => typeof value === 'string');
};

/**
 * Refuses values that an open pull request changes otherwise: of two people who change one value, the second learns of the first.
 * @throws FleetError VALUES_CHANGED
 */
export const refuseOpenValues = (edits: readonly SiteValuesEdit[], open: readonly OpenSiteValue[]): void => {
  for (const { environment, siteSelector, set, unset } of edits) {
    const key = canonicalJson(siteSelector);
    const own = open.filter(
      (one) =>
        one.pullRequest !== undefined &&
        (one.environment === undefined || one.environment === environment) &&
        canonicalJson(one.siteSelector) === key &&
        (Object.hasOwn(set, one.name) || unset.includes(one.name)),
    );
    const other = own.find(({ name, value }) => !isSameJson(valueIn(set, name), value));
    if (other)
      throw new FleetError(
        'VALUES_CHANGED',
        `${other.person} proposed another value ${other.name} of ${nameOf(siteSelector)} at ${other.at}, in an open pull request: ${other.pullRequest}`,
        { subject: other.name, hint: 'Wait until it is merged, or have it closed first' },
      );
  }
};

const nameOf = (selector: Readonly<Record<string, string>>): string => {
  const { site, agent, ...labels } = selector;
  const own = [site, agent].filter((part) => part !== undefined).join('/');
  const rest = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
  return [...(own === '' ? [] : [own]), ...rest].join(',') || 'all sites';
};
