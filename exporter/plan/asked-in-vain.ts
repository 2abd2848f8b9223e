import { shortDigest } from '#bundles/digest';
import { nameSome } from '#bundles/name-some';
import type { Bases } from '../base/base.ts';
import { countOf } from '../base/read-needs.ts';
import type { Plan } from './plan.ts';

/** Asked for by an import, and in no bundle that this medium carries: whoever asked would wait for it for ever. */
export const askedInVain = (
  { asked }: Pick<Bases, 'asked'>,
  plan: Pick<Plan, 'blobs'>,
): readonly string[] => {
  const carried = new Set<string>(plan.blobs.map(({ digest }) => digest));
  const absent = [...asked].filter(([digest]) => !carried.has(digest));
  return [...Map.groupBy(absent, ([, agent]) => agent)].map(
    ([agent, blobs]) =>
      `${countOf(blobs.length)} that ${agent} asks for ${blobs.length === 1 ? 'is' : 'are'} of no release on this medium and ${
        blobs.length === 1 ? 'is' : 'are'
      } not sent: ${nameSome(blobs.map(([digest]) => shortDigest(digest)))}`,
  );
};
