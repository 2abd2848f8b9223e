import type { Digest } from '#bundles/digest';
import { formatCount } from '#bundles/format-count';
import type { Delta } from '#bundles/formats/medium/medium';
import { nameSome } from '#bundles/name-some';
import { sum } from '#bundles/sum';
import type { Bases } from '../source/base/base.ts';
import type { OfferedBundle, OfferedChannel } from '../source/offer.ts';
import { knowledgeOf } from '#bundles/formats/medium/choose-blobs';
import type { BundlePlan } from './plan.ts';

/** The size of a bundle on the medium, with the reasons. @param chosen blobs written whole @param deltas blobs written as patches */
export const describeBundle = (
  channel: OfferedChannel,
  bundle: OfferedBundle,
  chosen: ReadonlySet<Digest>,
  learnt: Bases,
  deltas: readonly Delta[],
): BundlePlan => {
  const { asked } = learnt;
  const { bases, silent } = knowledgeOf(bundle, learnt);
  const bytesOf = (test: (digest: Digest) => boolean): number =>
    sum(bundle.closure.filter(({ digest }) => test(digest)).map(({ size }) => size));
  const own = deltas.filter(({ digest }) => bundle.closure.some((blob) => blob.digest === digest));
  const patched = new Set(own.map(({ digest }) => digest));
  const patches = sum(own.map(({ patch }) => patch.size));
  const wanted = bundle.closure.filter(({ digest }) => asked.has(digest)).length;
  const reasons = bases.map((base) => {
    const sets = [...base.holds.values()];
    const held = bundle.closure.filter(({ digest }) => sets.some((set) => set.has(digest))).length;
    return `${base.name} has ${held} of ${bundle.closure.length} blobs`;
  });
  return {
    channel: bundle.channel,
    version: channel.version,
    kind: bundle.kind,
    digest: bundle.digest,
    total: bytesOf(() => true),
    carried: bytesOf((digest) => chosen.has(digest)) + patches,
    assumed: bytesOf((digest) => !chosen.has(digest) && !patched.has(digest)),
    why: [
      ...(silent.length > 0 ? [`nothing is known of ${nameSome(silent)}: everything`] : reasons),
      ...(silent.length + reasons.length === 0 ? ['no base: everything'] : []),
      ...(wanted > 0 ? [`${formatCount(wanted, 'blob')} asked for`] : []),
      ...(own.length > 0
        ? [`${formatCount(own.length, 'blob')} as ${own.length === 1 ? 'a patch' : 'patches'}`]
        : []),
    ],
  };
};
