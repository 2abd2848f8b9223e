import { FleetError, type Place } from '#bundles/errors';
import { nameSome } from '#bundles/name-some';
import { didYouMean } from '#bundles/nearest-name';
import { createComposer } from '../../plan/compose/compose-config.ts';
import { type ConfigSetting, explainConfig } from '../../plan/compose/explain-config.ts';
import { plainValue } from '../../model/plain-value.ts';
import type { ClusterType, DeploymentTarget, Platform, Value } from '../../model/model.ts';
import { parseSchemaText } from '../../load/objects/schema-text.ts';
import { templateOf } from '../../render/template-advice.ts';
import { createRenderer, isHeld } from '../../render/create-renderer.ts';
import { schedulePlatform } from '../../plan/schedule/schedule-platform.ts';
import { isWriteOnly } from '../../plan/compose/is-write-only.ts';
import { type LayerTerm, layerTerms, type PolicyTerm, policyTerms } from './selector-terms.ts';

/** The value that one layer sets. `value` is undefined if a schema hides it (writeOnly). */
export type ValueSetting = {
  readonly value: Value | undefined;
  readonly at: Place;
  readonly layer: string;
  readonly from: 'base' | 'environment';
  /** Why the layer applies to this pair; empty if it applies to all pairs. */
  readonly selected: readonly LayerTerm[];
};

export type ExplainedValue = ValueSetting & {
  /** Keys and indexes from the root. */
  readonly path: readonly string[];
  readonly hidden: boolean;
  /** Replaced values, the latest first. */
  readonly overrode: readonly ValueSetting[];
};

export type ExplainedPolicy = {
  readonly name: string;
  readonly at: Place;
  readonly terms: readonly PolicyTerm[];
};

export type ExplainedFile = { readonly path: string; readonly template: string; readonly at: Place };

export type ExplainedPair = {
  readonly clusterType: string;
  readonly clusterTypeAt: Place;
  readonly deploymentTarget: string;
  readonly deploymentTargetAt: Place;
  /** undefined: not assigned to that cluster type; `policies` have the reason. */
  readonly policy: string | undefined;
  /**
   * The policy that assigns it first, then all others that select it; if none does, all policies with the conditions that
   * failed.
   */
  readonly policies: readonly ExplainedPolicy[];
  /** Why it is not rendered. */
  readonly held: FleetError | undefined;
  readonly files: readonly ExplainedFile[];
  readonly values: readonly ExplainedValue[];
};

export type ExplainQuestion = {
  readonly clusterType?: string | undefined;
  readonly deploymentTarget?: string | undefined;
  /** Only values at or below this dotted key. */
  readonly key?: string | undefined;
};

/**
 * Explains the origin of assignments, their files and their values. A named pair is explained even if it is not assigned;
 * without names all assignments are, in the order of the schedule.
 * @throws FleetError USAGE for an unknown name
 */
export const explainPlatform = (platform: Platform, question: ExplainQuestion): readonly ExplainedPair[] => {
  const types = choose(platform.clusterTypes, question.clusterType, 'cluster type');
  const targets = choose(platform.targets, question.deploymentTarget, 'deployment target');
  const { assignments, held } = schedulePlatform(platform);
  const all = [...assignments, ...held.map(({ assignment }) => assignment)];
  const known = new Map(all.map((one) => [`${one.clusterType.name}/${one.target.name}`, one]));
  const faults = new Map(held.map(({ assignment, error }) => [assignment, error]));
  const composer = createComposer(platform);
  const { render } = createRenderer(platform);
  const isAsked = question.clusterType !== undefined && question.deploymentTarget !== undefined;
  return types.flatMap((clusterType) =>
    targets.flatMap((target): readonly ExplainedPair[] => {
      const assignment = known.get(`${clusterType.name}/${target.name}`);
      if (!assignment && !isAsked) return [];
      const pair = {
        clusterType: clusterType.name,
        clusterTypeAt: clusterType.at,
        deploymentTarget: target.name,
        deploymentTargetAt: target.at,
        policy: assignment?.policy,
        policies: explainPolicies(platform, clusterType, target, assignment?.policy),
      };
      if (!assignment) return [{ ...pair, held: undefined, files: [], values: [] }];
      const rendered = faults.has(assignment) ? undefined : render(assignment);
      const error = rendered && isHeld(rendered) ? rendered.error : faults.get(assignment);
      const files = rendered && !isHeld(rendered) ? rendered.files : [];
      return [
        {
          ...pair,
          held: error,
          files: files.map(({ path }) => explainFile(platform, clusterType, path)),
          values: explainValues(composer(clusterType, target), clusterType, target, question.key),
        },
      ];
    }),
  );
};

const choose = <T extends { readonly name: string }>(
  all: readonly T[],
  name: string | undefined,
  what: string,
): readonly T[] => {
  if (name === undefined) return all;
  const found = all.filter((one) => one.name === name);
  if (found.length > 0) return found;
  throw new FleetError('USAGE', `there is no ${what} ${JSON.stringify(name)}`, {
    hint:
      all.length === 0
        ? 'The environment has none'
        : `${
            didYouMean(
              name,
              all.map((one) => one.name),
            ) ?? ''
          }There is ${nameSome(all.map((one) => one.name))}`,
  });
};

const explainPolicies = (
  platform: Platform,
  clusterType: ClusterType,
  target: DeploymentTarget,
  winner: string | undefined,
): readonly ExplainedPolicy[] => {
  const all = platform.policies.map((policy) => ({
    name: policy.name,
    at: policy.at,
    terms: policyTerms(policy, clusterType, target),
  }));
  if (winner === undefined) return all;
  const selecting = all.filter(({ terms }) => terms.every(({ holds }) => holds));
  return selecting.toSorted((a, b) => Number(b.name === winner) - Number(a.name === winner));
};

const explainFile = (platform: Platform, clusterType: ClusterType, path: string): ExplainedFile => {
  const template = templateOf(clusterType, path);
  return { path, template, at: platform.templates.get(template)?.at ?? clusterType.at };
};

const explainValues = (
  { layers, schemas }: ReturnType<ReturnType<typeof createComposer>>,
  clusterType: ClusterType,
  target: DeploymentTarget,
  key: string | undefined,
): readonly ExplainedValue[] => {
  const own = target.configSchemas.flatMap((text) => {
    const parsed = parseSchemaText(text);
    return 'schema' in parsed ? [parsed.schema] : [];
  });
  const judges = [...schemas.map(({ schema }) => schema), ...own];
  return explainConfig(layers)
    .filter(({ path }) => key === undefined || `${path.join('.')}.`.startsWith(`${key}.`))
    .map(({ path, overrode, ...say }) => {
      const hidden = judges.some((schema) => isWriteOnly(schema, path));
      const tell = ({ layer, at, value }: ConfigSetting): ValueSetting => ({
        value: hidden ? undefined : plainValue(value),
        at,
        layer: layer.name,
        from: layer.from,
        selected: layerTerms(layer.selector, clusterType, target),
      });
      return { path, hidden, ...tell(say), overrode: overrode.map(tell) };
    });
};
