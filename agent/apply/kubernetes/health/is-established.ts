import { stableText } from '#bundles/json/stable-hash';
import { conditionOf, type Condition } from './condition.ts';
import { fieldOf } from './live-field.ts';

/** True if the server accepts objects of this CustomResourceDefinition. */
export const isEstablished = (crd: unknown): boolean => conditionOf(crd, 'Established')?.status === 'True';

/** False while the names that the server has accepted are not those of the spec: its conditions may be about names from before a change. */
export const hasItsNames = (crd: unknown): boolean => {
  const accepted = fieldOf(crd, 'status', 'acceptedNames');
  return accepted === undefined || stableText(accepted) === stableText(fieldOf(crd, 'spec', 'names'));
};

/** The condition by which the server refuses the names of the spec; undefined if it has accepted them, or not judged any. */
export const refusedNames = (crd: unknown): Condition | undefined => {
  const condition = conditionOf(crd, 'NamesAccepted');
  const isOfBefore = fieldOf(crd, 'status', 'acceptedNames') !== undefined && hasItsNames(crd);
  return condition?.status === 'False' && !isOfBefore ? condition : undefined;
};
