import type { ReleasedLayers } from '../../load/releases/site-layers-document.ts';
import type { Labels } from '../../model/model.ts';
import { labelsForLayers, type LayeredAgent } from './compose-site.ts';

/** An enrolled agent as the layers of its channel see it. @param labels of its enrolment */
export const layeredAgent = (
  { site, name, labels }: { readonly site: string; readonly name: string; readonly labels: Labels },
  released: Pick<ReleasedLayers, 'sites'> | undefined,
): LayeredAgent => ({ site, agent: name, labels: labelsForLayers(released?.sites.get(site), labels) });
