import type { BundleAssignment, PackageBounds } from '../bundle/config.ts';

/** 'platform': a package of the platform team. 'unsaid': a tenant's package in a bundle older than recorded bounds. */
export type Bounds = PackageBounds | 'platform' | 'unsaid';

/** A package without workspace and bounds belongs to the platform team (docs/bundle-format.md section 4). */
export const boundsOf = (assignment: Pick<BundleAssignment, 'bounds' | 'workspace'> | undefined): Bounds =>
  assignment?.bounds ?? ((assignment?.workspace ?? '') === '' ? 'platform' : 'unsaid');
