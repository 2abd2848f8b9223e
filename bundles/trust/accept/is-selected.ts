import { defined } from '../../defined.ts';
import { digestOf } from '../../digest.ts';
import type { Rollout, RolloutTerm } from '../../formats/statements/predicates.ts';

/**
 * Whether a rollout reaches an agent: for one of its terms the labels fit, and the hash of the agent's name falls below the
 * percentage. The hash does not change between releases, so a rising percentage only ever adds agents, and one file serves all.
 */
export const isSelected = (
  rollout: Rollout,
  who: { readonly site: string; readonly agent: string },
  labels: Readonly<Record<string, string>>,
): boolean => {
  const fitting = termsOf(rollout).filter((term) => fits(term.selector ?? {}, labels));
  // The hash is computed only where it decides: a hub asks for each agent of the fleet.
  if (fitting.some((term) => term.percent >= 100)) return true;
  if (fitting.length === 0) return false;
  const bucket = bucketOf(`${who.site}/${who.agent}`);
  return fitting.some((term) => bucket < term.percent);
};

const fits = (
  selector: Readonly<Record<string, string>>,
  labels: Readonly<Record<string, string>>,
): boolean => Object.entries(selector).every(([key, value]) => labels[key] === value);

/** 0 to 99: the first 32 bits of SHA-256 of the name, modulo 100. */
const bucketOf = (name: string): number =>
  Number.parseInt(digestOf(name).slice('sha256:'.length, 'sha256:'.length + 8), 16) % 100;

const termsOf = ({ selector, percent, also = [] }: Rollout): readonly RolloutTerm[] => [
  defined({ percent, selector }),
  ...also,
];

/** Whether a rollout reaches every agent of its channel, whatever its labels and name. */
export const reachesEveryone = (rollout: Rollout): boolean =>
  termsOf(rollout).some(({ percent, selector = {} }) => percent >= 100 && Object.keys(selector).length === 0);
