import { createHash } from 'node:crypto';
import { type Digest, digestOf } from '#bundles/digest';
import { exactText } from '../model/exact-text.ts';
import type { Assignment, ClusterType, Platform } from '../model/model.ts';
import { remember } from '../model/remember.ts';
import type { Composition } from '../plan/compose/compose-config.ts';

/** Everything of a platform that rendering reads, besides the assignments. */
export type RenderingPlatform = Pick<
  Platform,
  'form' | 'environment' | 'templates' | 'configs' | 'schemas' | 'workspaces' | 'repositories'
>;

/** Digests of the inputs of the packages of one cluster type. */
export type TypeDigests = {
  /** The cluster type, and the target, policy and configuration of each of its packages. */
  readonly pairs: Digest;
  /** `pairs`, and everything else that rendering the packages reads. */
  readonly rendering: Digest;
};

/** A package and its configuration. */
export type Pair = readonly [Assignment, Composition];

/** Packages share targets and configurations: the digest of each is computed once. */
export const createTypeDigests = ({
  form,
  environment,
  templates,
  workspaces,
  repositories,
}: RenderingPlatform): ((clusterType: ClusterType, pairs: readonly Pair[]) => TypeDigests) => {
  const digest = remember((value: object) => digestOf(exactText(value)));
  const common = exactText([form, environment, templates, workspaces, repositories]);
  return (clusterType, pairs) => {
    const hash = createHash('sha256').update(`${exactText(clusterType)}\n`);
    const judged = createHash('sha256').update(`${common}\n`);
    for (const [{ target, policy }, composition] of pairs) {
      hash.update(`${digest(target)} ${digest(composition.values)} ${JSON.stringify(policy)}\n`);
      judged.update(`${digest(composition.schemas)}\n`);
    }
    const pairsDigest: Digest = `sha256:${hash.digest('hex')}`;
    return { pairs: pairsDigest, rendering: `sha256:${judged.update(pairsDigest).digest('hex')}` };
  };
};
