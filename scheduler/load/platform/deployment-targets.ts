import { defined } from '#bundles/defined';
import type { Bounds } from '../../model/bounds.ts';
import type { Adopt, DeploymentTarget, HostGrants, Labels } from '../../model/model.ts';
import type { ObjectOf } from '../objects/platform-object.ts';

/** How a Workload was delivered into the environment. */
export type Arrival = {
  readonly workspace: string;
  readonly registration?: string;
  readonly bounds?: Bounds | undefined;
  readonly grants?: HostGrants | undefined;
  readonly adopt?: Adopt | undefined;
  readonly packageSeconds?: number | undefined;
  readonly siteValues?: readonly string[] | undefined;
  /** Labels that Kalypso's delivery adds to a Workload; templates can read them. */
  readonly deliveryLabels: Labels;
};

/**
 * A Workload's targets for one environment (behaviour.md 2.1 and section 1). The Workload's labels override its targets',
 * and `workload` and `workspace` override both.
 */
export const toDeploymentTargets = (
  workload: ObjectOf<'Workload'>,
  environment: string,
  arrival: Arrival,
): readonly DeploymentTarget[] =>
  workload.targets
    .filter((target) => target.environment === environment)
    .map((target) =>
      defined({
        name: `${workload.name}-${target.name}`,
        shortName: target.name,
        workload: workload.name,
        workspace: arrival.workspace,
        environment,
        labels: {
          ...target.labels,
          ...workload.labels,
          ...arrival.deliveryLabels,
          workload: workload.name,
          workspace: arrival.workspace,
        },
        manifests: target.manifests,
        configSchemas: [...target.configSchemas, ...workload.configSchemas],
        coerces: workload.coerces === true ? true : undefined,
        dependsOn: target.dependsOn,
        critical: target.critical,
        namespace: target.namespace,
        registration: arrival.registration,
        bounds: arrival.bounds,
        grants: arrival.grants,
        adopt: arrival.adopt,
        packageSeconds: arrival.packageSeconds,
        siteValues: arrival.siteValues,
        siteInputs: target.siteInputs,
        siteConfig: target.siteConfig === true ? true : undefined,
        at: target.at,
        labelPlaces: target.labelPlaces,
      }),
    );
