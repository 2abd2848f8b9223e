import { digestOf } from '../../digest.ts';
import type { ReleasePredicate } from '../../formats/statements/predicates.ts';

/**
 * Whether a rollout reaches an agent: its labels fit, and the hash of its name falls below the percentage. The hash does
 * not change between releases, so a rising percentage only ever adds agents, and one file serves all.
 */
export const isSelected = (
  rollout: ReleasePredicate['rollout'],
  who: { readonly site: string; readonly agent: string },
  labels: Readonly<Record<string, string>>,
): boolean => {
  const fits = Object.entries(rollout.selector ?? {}).every(([key, value]) => labels[key] === value);
  return fits && bucketOf(`${who.site}/${who.agent}`) < rollout.percent;
};

/** 0 to 99: the first 32 bits of SHA-256 of the name, modulo 100. */
const bucketOf = (name: string): number =>
  Number.parseInt(digestOf(name).slice('sha256:'.length, 'sha256:'.length + 8), 16) % 100;
