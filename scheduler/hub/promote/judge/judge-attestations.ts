import type { AttestationRule } from '../../../model/promotion.ts';
import type { AttestationFacts } from '../facts/facts.ts';
import { type Condition, holdingOf } from './verdict.ts';

/** Every image of the candidate that the rule covers carries the attestation. Without such an image there is nothing to attest. */
export const judgeAttestation = (
  { type }: AttestationRule,
  { images, missing }: Omit<AttestationFacts, 'type'> = { images: 0, missing: ['the bundles were not read'] },
): Condition => {
  const met = missing.length === 0;
  return {
    name: `attestation ${type}`,
    wanted: 'of every image, signed by a key of the policy',
    found: images === 0 && met ? 'no image' : `${Math.max(0, images - missing.length)} of ${images}`,
    met,
    holding: holdingOf(missing),
    earliest: null,
    changedBy: met ? [] : ['release'],
  };
};
