import { type Digest, digestOf } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import type { Layout } from '#bundles/formats/layout/layout';
import { readBlob } from '#bundles/formats/layout/verified';
import { canonicalBytes } from '#bundles/json/canonical';
import { parseStrictJson } from '#bundles/json/strict-json';
import { ROLLOUT_JSON } from '#bundles/media-types';
import type { Channel } from '#bundles/names';
import type { NewDocument } from '../../load/releases/artifact.ts';
import type { StoredRelease } from '../../load/releases/read-release.ts';
import type { RolloutPlan } from './plan-rollout.ts';

export const MAX_PLAN_BYTES = 1 << 20;

/** A plan with its canonical bytes and their digest, by which decisions name it. */
export type StoredPlan = { readonly plan: RolloutPlan; readonly bytes: Buffer; readonly digest: Digest };

export const storePlan = (plan: RolloutPlan): StoredPlan => {
  const bytes = canonicalBytes(plan);
  return { plan, bytes, digest: digestOf(bytes) };
};

/** The plan as a document of a release; each reissue copies it. */
export const planDocument = (channel: Channel, { bytes }: Pick<StoredPlan, 'bytes'>): NewDocument => ({
  role: 'rollout',
  mediaType: ROLLOUT_JSON,
  ...channel,
  bytes,
});

/**
 * Reads the plan among the documents of a release or of a bundle that awaits approval; undefined without one. The plan itself is
 * unsigned: it counts only if a decision of the audit log names its digest.
 * @throws FleetError MISSING_BLOB, DIGEST_MISMATCH, TOO_LARGE, BAD_JSON, SCHEMA
 */
export const readPlan = async (
  layout: Layout,
  { documents }: Pick<StoredRelease, 'documents'>,
): Promise<StoredPlan | undefined> => {
  const document = documents.find(({ role }) => role === 'rollout');
  return document && parsePlan(await readBlob(layout.blobs, document.digest, MAX_PLAN_BYTES));
};

/** @throws FleetError BAD_JSON, SCHEMA */
export const parsePlan = (bytes: Buffer): StoredPlan => {
  const plan = parseStrictJson(bytes, { maxBytes: MAX_PLAN_BYTES }, 'the plan of a rollout') as RolloutPlan;
  if (plan.format === 1 && Array.isArray(plan.stages) && plan.stages.length > 0)
    return { plan, bytes, digest: digestOf(bytes) };
  throw new FleetError(
    'SCHEMA',
    'the plan of a rollout has no stages, or a format that this version does not know',
    {
      hint: 'Update the scheduler',
    },
  );
};
