import { FleetError, type Place } from '#bundles/errors';
import { createConfigJudge } from '../compose/check-config.ts';
import { createComposer } from '../compose/compose-config.ts';
import { explainConfig } from '../compose/explain-config.ts';
import { plainValue } from '../../model/plain-value.ts';
import { isWriteOnly } from '../compose/is-write-only.ts';
import type { Assignment, ConfigLayer, Labels, Platform, Value } from '../../model/model.ts';

/** A value that a schema requires and no layer sets, with information that helps to set it. */
export type MissingValue = {
  /** Dotted path. */
  readonly name: string;
  readonly schema: string;
  readonly type: string | undefined;
  readonly description: string | undefined;
  /** Layers that apply to the assignment, most specific first. Any of them could set the value. */
  readonly layers: readonly MissingPlace[];
  /** The values in other environments for the same assignment. `value` is undefined if a schema hides it. */
  readonly elsewhere: readonly {
    readonly environment: string;
    readonly value: Value | undefined;
    readonly at: Place;
  }[];
};

export type MissingPlace = Pick<ConfigLayer, 'name' | 'from' | 'at'> & { readonly selector: Labels };

/** Returns the missing values of an assignment; `others` are environments to take examples from. */
export type MissingFinder = (assignment: Assignment, others: readonly Platform[]) => readonly MissingValue[];

export const createMissingFinder = (platform: Platform): MissingFinder => {
  const composer = createComposer(platform);
  const judge = createConfigJudge(platform.form);
  return ({ clusterType, target }, others) => {
    const composition = composer(clusterType, target);
    const verdict = judge(composition, target);
    if (verdict instanceof FleetError) return [];
    return verdict.flatMap(({ path, schema, wants }) => {
      if (!wants) return [];
      return [
        {
          name: path.join('.'),
          schema,
          ...wants,
          layers: composition.layers
            .toReversed()
            .map(({ name, from, at, selector }) => ({ name, from, at, selector })),
          elsewhere: others.flatMap((other) => valueIn(other, clusterType.name, target.name, path)),
        },
      ];
    });
  };
};

const valueIn = (
  platform: Platform,
  clusterTypeName: string,
  targetName: string,
  path: readonly string[],
): MissingValue['elsewhere'] => {
  const clusterType = platform.clusterTypes.find(({ name }) => name === clusterTypeName);
  const target = platform.targets.find(({ name }) => name === targetName);
  if (!clusterType || !target) return [];
  const { layers, schemas } = createComposer(platform)(clusterType, target);
  const key = path.join('\0');
  const origin = explainConfig(layers).find((one) => one.path.join('\0') === key);
  if (!origin) return [];
  const hidden = schemas.some(({ schema }) => isWriteOnly(schema, path));
  const value = hidden ? undefined : plainValue(origin.value);
  return [{ environment: platform.environment, value, at: origin.at }];
};
