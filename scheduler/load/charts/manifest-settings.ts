import { FleetError } from '#bundles/errors';
import type { DeploymentTarget, Value } from '../../model/model.ts';

const MANIFEST_TYPES = ['plain', 'kustomize', 'helm'] as const;
export type ManifestType = (typeof MANIFEST_TYPES)[number];

const HOOKS = ['refuse', 'keep', 'drop'] as const;
export type Hooks = (typeof HOOKS)[number];

/** A published chart that is in none of the fleet's repositories. */
export type ChartReference = {
  /** 'oci://host/path/name', or 'https://host/path/name' for the chart `name` of the repository before it. */
  readonly chart: string;
  readonly version: string;
};

/** How a deployment target's objects are made, from its `manifests` (docs/applications.md). */
export type ManifestSettings = {
  /** Undefined: detected from the files. */
  readonly type: ManifestType | undefined;
  readonly chart: ChartReference | undefined;
  /** Values files, relative to `path`, in ascending precedence. */
  readonly values: readonly string[];
  /**
   * The key path under which the composed configuration is added to the values; [] for the top level, undefined for no
   * configuration.
   */
  readonly configUnder: readonly string[] | undefined;
  readonly releaseName: string;
  readonly hooks: Hooks;
};

/**
 * Reads the settings from `manifests`, a free-form map. Kalypso's map holds only text, so lists may be comma-separated.
 * Other keys are ignored.
 * @throws FleetError FIELD_INVALID
 */
export const manifestSettings = (target: DeploymentTarget): ManifestSettings => {
  const { manifests } = target;
  const chart = textOf(target, 'chart');
  const from = textOf(target, 'valuesFrom');
  if (from !== undefined && from !== 'config')
    throw wrong(target, `valuesFrom is ${JSON.stringify(from)}`, 'It can be config');
  const under = textOf(target, 'valuesKey');
  const path = under === undefined ? [] : under.split('.');
  return {
    type: oneOf(target, 'type', MANIFEST_TYPES),
    chart: chart === undefined ? undefined : chartOf(target, chart),
    values: listOf(target, manifests['values']),
    configUnder: from === undefined ? undefined : path,
    releaseName: textOf(target, 'releaseName') ?? target.name,
    hooks: oneOf(target, 'hooks', HOOKS) ?? 'refuse',
  };
};

const chartOf = (target: DeploymentTarget, chart: string): ChartReference => {
  if (!/^(?:oci|https?):\/\/[^\s/@?#]+\/[^\s@?#]*[^\s/@?#]$/.test(chart))
    throw wrong(
      target,
      `chart ${JSON.stringify(chart)} is not the address of a chart`,
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
  throw wrong(target, 'values is not a list of files', 'Write values: [values.yaml, values-prod.yaml]');
};

const wrong = (target: DeploymentTarget, what: string, hint: string): FleetError =>
  new FleetError('FIELD_INVALID', `manifests: ${what}`, {
    subject: target.name,
    at: target.at,
    hint,
  });
