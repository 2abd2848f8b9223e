import { createHash } from 'node:crypto';
import { type Digest, digestOf } from '#bundles/digest';
import { exactText } from '../model/exact-text.ts';
import type { Assignment, ClusterType, Platform } from '../model/model.ts';
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
  /** These, and everything else that rendering them reads. */
  readonly rendering: Digest;
};

/** A package and its configuration. */
export type Pair = readonly [Assignment, Composition];

/** Pairs share targets and configurations: the digest of each is computed once. */
export const createTypeDigests = ({
  form,
  environment,
  templates,
  workspaces,
  repositories,
}: RenderingPlatform): ((clusterType: ClusterType, pairs: readonly Pair[]) => TypeDigests) => {
  const known = new WeakMap<object, Digest>();
  const once = (value: object): Digest => {
    const found = known.get(value) ?? digestOf(exactText(value));
    known.set(value, found);
    return found;
  };
  const common = exactText([form, environment, templates, workspaces, repositories]);
  return (clusterType, pairs) => {
    const hash = createHash('sha256').update(`${exactText(clusterType)}\n`);
    const judged = createHash('sha256').update(`${common}\n`);
    for (const [{ target, policy }, composition] of pairs) {
      hash.update(`${once(target)} ${once(composition.values)} ${JSON.stringify(policy)}\n`);
      judged.update(`${once(composition.schemas)}\n`);
    }
    const digest: Digest = `sha256:${hash.digest('hex')}`;
    return { pairs: digest, rendering: `sha256:${judged.update(digest).digest('hex')}` };
  };
};
