import type { Json } from '#bundles/json/canonical';
import type { PlannedLocal } from '../apply/operator/set-local-value.ts';

const shown = (value: Json | undefined): string => (value === undefined ? 'nothing' : JSON.stringify(value));

/** A change of a local value, for people. */
export const describeLocal = (
  { name, old, new: next, given, takenBy, overriddenFor, changed }: PlannedLocal,
  state: 'planned' | 'done',
): readonly string[] => [
  changed
    ? `${name}  ${shown(old)} -> ${shown(next)}${state === 'planned' ? '  (dry run, nothing was changed)' : ''}`
    : `${name}  ${shown(next)} is set here already`,
  `The office has ${shown(given)}.`,
  takenBy.length === 0 ? 'No package here takes it.' : `Taken by ${takenBy.join(', ')}.`,
  ...(overriddenFor.length === 0
    ? []
    : [
        `A fixed layer of the platform overrides it for ${overriddenFor.join(', ')}: it changes nothing there.`,
      ]),
];
