import type { FleetError } from '#bundles/errors';
import type { Platform, RenderedPackage } from '../../model/model.ts';
import type { Applications } from './load-applications.ts';

/** The rendered packages of one environment, and the applications that they name. */
export type PlatformApplications = {
  readonly platform: Platform;
  readonly packages: readonly RenderedPackage[];
  /** Errors of assignments that are held. */
  readonly held: readonly FleetError[];
  readonly applications: Applications;
};
