import { FleetError } from '#bundles/errors';
import type { DeploymentTarget, Platform } from '../../model/model.ts';

/**
 * OUT_OF_BOUNDS for targets of registered applications that are critical without a grant of their workspace: a failure of a critical
 * package holds back the packages of every team (docs/workspaces.md).
 */
export const findCriticalFaults = ({
  targets,
  workspaces = [],
}: Pick<Platform, 'targets' | 'workspaces'>): ReadonlyMap<DeploymentTarget, FleetError> => {
  const granted = new Set(workspaces.filter(({ critical }) => critical).map(({ name }) => name));
  return new Map(
    targets
      .filter(
        ({ critical, registration, workspace }) =>
          critical && registration !== undefined && !granted.has(workspace),
      )
      .map((target) => [target, notGranted(target)]),
  );
};

const notGranted = ({ name, workspace, at }: DeploymentTarget): FleetError =>
  new FleetError(
    'OUT_OF_BOUNDS',
    'it is critical, so that its failure would hold back the packages of every team',
    {
      subject: `DeploymentTarget ${name}`,
      at,
      hint:
        workspace === ''
          ? 'Remove critical, or give its WorkloadRegistration a workspace that grants it: spec: {critical: true}'
          : `Remove critical, or let the platform grant it in the Workspace ${workspace}: spec: {critical: true}`,
    },
  );
