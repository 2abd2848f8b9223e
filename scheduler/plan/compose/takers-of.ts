import { allowsName } from '#bundles/formats/bounds/package-bounds';
import { siteFields } from '#bundles/formats/bounds/site-fields';
import type { BundleConfig } from '#bundles/formats/bundle/config';
import type { ReleasedLayers } from '../../load/releases/site-layers-document.ts';
import type { Taker } from './compose-site.ts';

/** The assignments of a bundle, and which site values each takes: as far as its workspace may read them. */
export const takersOf = (
  config: BundleConfig,
  released: Pick<ReleasedLayers, 'targets'> | undefined,
): readonly Taker[] =>
  config.assignments.map(({ id, bounds }) => {
    const known = new Map<string, boolean>();
    const readable = bounds?.siteValues;
    const judge = (name: string): boolean =>
      (readable === undefined || allowsName(readable, name)) &&
      siteFields(config, [name]).some(({ assignment, input }) => assignment === id && input === name);
    return {
      target: released?.targets.get(id) ?? { name: id, workload: '', labels: {} },
      takes: (name) => {
        const found = known.get(name) ?? judge(name);
        known.set(name, found);
        return found;
      },
    };
  });
