import type { WholeFloat } from './go/number.ts';

/**
 * What templates work on: YAML's values. An integer beyond 2^53 is a bigint, a float with a whole value (`5.0`) a
 * WholeFloat, so that both print as Go prints them. A mapping with keys that are no strings is a Map.
 */
export type TemplateValue =
  | null
  | boolean
  | string
  | number
  | bigint
  | WholeFloat
  | readonly TemplateValue[]
  | ReadonlyMap<TemplateValue, TemplateValue>
  | { readonly [key: string]: TemplateValue };

/**
 * The facts one assignment is rendered from. Handlebars templates read these names; Go templates read Kalypso's struct
 * (behaviour spec 2.6): DeploymentTargetName, Namespace ... ConfigData, without the cluster type's labels.
 */
export type TemplateContext = {
  /** `<workload>-<target>` */
  readonly deploymentTargetName: string;
  readonly namespace: string;
  readonly environment: string;
  readonly workspace: string;
  readonly workload: string;
  /** Labels of the deployment target. */
  readonly labels: Readonly<Record<string, string>>;
  /** The target's free map: repo, branch, path ... */
  readonly manifests: Readonly<Record<string, string>>;
  /** The cluster type's name. */
  readonly clusterType: string;
  readonly clusterTypeLabels: Readonly<Record<string, string>>;
  /** The composed configuration. */
  readonly configData: { readonly [key: string]: TemplateValue };
};
