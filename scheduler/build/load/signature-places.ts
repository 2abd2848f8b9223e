import { type Layout, openOrStartLayout } from '#bundles/formats/layout/layout';
import type { EvidencePlace } from '../../assemble/images/signatures/evidence-place.ts';
import { layoutEvidence } from '../../assemble/images/signatures/layout-evidence.ts';
import { registryEvidence } from '../../assemble/images/signatures/registry-evidence.ts';
import type { BundleBuildOptions } from '../build-options.ts';

/**
 * Places to look for image signatures, in order. The output layout comes before the registry, because it holds the evidence
 * that earlier builds found.
 */
export const signaturePlaces = (
  { layout, pull }: Pick<BundleBuildOptions, 'layout' | 'pull'>,
  given: readonly (Layout | undefined)[],
): readonly EvidencePlace[] => [
  ...given.flatMap((one) => (one ? [layoutEvidence(one.directory, async () => one)] : [])),
  layoutEvidence(layout, () => openOrStartLayout(layout)),
  ...(pull ? [registryEvidence(pull)] : []),
];
