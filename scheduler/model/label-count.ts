import type { SiteLayer } from './model.ts';

/** How many labels of cluster type, deployment target, site and agent select a layer. */
export const labelCount = ({
  selector,
  siteSelector,
}: Pick<SiteLayer, 'selector' | 'siteSelector'>): number =>
  Object.keys(selector).length + Object.keys(siteSelector).length;
