import { FleetError } from '#bundles/errors';
import type { DeploymentTarget, Value } from '../platform/model.ts';

const MANIFEST_TYPES = ['plain', 'kustomize', 'helm'] as const;
export type ManifestType = (typeof MANIFEST_TYPES)[number];

const HOOKS = ['refuse', 'keep', 'drop'] as const;
export type Hooks = (typeof HOOKS)[number];

/** A chart that is in no repository of the fleet's: where it is published, and which one. */
export type ChartReference = {
  /** 'oci://host/path/name', or 'https://host/path/name' for the chart `name` of the repository before it. */
  readonly chart: string;
  readonly version: string;
};

/** What a deployment target's `manifests` say about how its objects are made (docs/applications.md). */
export type ManifestSettings = {
  /** undefined: the files tell. */
  readonly type: ManifestType | undefined;
  readonly chart: ChartReference | undefined;
  /** Values files, relative to `path`; a later one wins. */
  readonly values: readonly string[];
  /** The keys under which the composed configuration comes among the values, [] for the top; undefined: not at all. */
  readonly configUnder: readonly string[] | undefined;
  readonly releaseName: string;
  readonly hooks: Hooks;
};

/**
 * `manifests` as settings. It is a free map (Kalypso's has texts only, so lists may be written with commas): what
 * nobody here reads is left alone. @throws FleetError FIELD_INVALID
 */
export const manifestSettings = (target: DeploymentTarget): ManifestSettings => {
  const { manifests } = target;
  const chart = textOf(target, 'chart');
  const from = textOf(target, 'valuesFrom');
  if (from !== undefined && from !== 'config')
    throw wrong(target, `valuesFrom is ${JSON.stringify(from)}`, 'It can be config');
  const under = textOf(target, 'valuesKey');
  return {
    type: oneOf(target, 'type', MANIFEST_TYPES),
    chart: chart === undefined ? undefined : chartOf(target, chart),
    values: listOf(target, manifests['values']),
    configUnder: from === undefined ? undefined : under === undefined ? [] : under.split('.'),
    releaseName: textOf(target, 'releaseName') ?? target.name,
    hooks: oneOf(target, 'hooks', HOOKS) ?? 'refuse',
  };
};

const chartOf = (target: DeploymentTarget, chart: string): ChartReference => {
  if (!/^(?:oci|https?):\/\/[^\s/@?#]+\/[^\s@?#]*[^\s/@?#]$/.test(chart))
    throw wrong(
      target,
      `chart ${JSON.stringify(chart)} is no chart's address`,
      'Write oci://host/path/name or https://host/path/name; a chart of the repository is named by path alone',
    );
  const version = textOf(target, 'version');
  if (version === undefined || !/^v?\d+\.\d+\.\d+(?:[-+][0-9A-Za-z.+-]+)?$/.test(version))
    throw wrong(
      target,
      `the chart ${chart} has ${version === undefined ? 'no version' : `the version ${JSON.stringify(version)}`}`,
      'Name one version exactly, like version: 1.2.3',
    );
  return { chart, version };
};

const textOf = ({ manifests }: DeploymentTarget, key: string): string | undefined => {
  const value = manifests[key];
  return typeof value === 'string' && value !== '' ? value : undefined;
};

const oneOf = <Word extends string>(
  target: DeploymentTarget,
  key: string,
  words: readonly Word[],
): Word | undefined => {
  const value = textOf(target, key);
  const found = words.find((word) => word === value);
  if (value === undefined || found !== undefined) return found;
  throw wrong(target, `${key} is ${JSON.stringify(value)}`, `It can be ${words.join(', ')}`);
};

const listOf = (target: DeploymentTarget, value: Value | undefined): readonly string[] => {
  if (value === undefined || value === null || value === '') return [];
  if (typeof value === 'string')
    return value
      .split(',')
      .map((one) => one.trim())
      .filter((one) => one !== '');
  if (Array.isArray(value) && value.every((one) => typeof one === 'string')) return value;
  throw wrong(target, 'values is no list of files', 'Write values: [values.yaml, values-prod.yaml]');
};

const wrong = (target: DeploymentTarget, what: string, hint: string): FleetError =>
  new FleetError('FIELD_INVALID', `manifests: ${what}`, {
    subject: target.name,
    at: target.at,
    hint,
  });
