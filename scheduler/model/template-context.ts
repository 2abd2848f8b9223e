import type { WholeFloat } from './go/number.ts';

/**
 * The values that templates work on. An integer beyond 2^53 is a bigint, and a float with a whole value (`5.0`) a
 * WholeFloat, so that both print as in Go. A mapping with keys that are not strings is a Map.
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
 * The data one assignment is rendered from. Handlebars templates read these names; Go templates read Kalypso's struct
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
  /** The target's free-form map: repo, branch, path ... */
  readonly manifests: Readonly<Record<string, string>>;
  readonly clusterType: string;
  readonly clusterTypeLabels: Readonly<Record<string, string>>;
  readonly configData: { readonly [key: string]: TemplateValue };
};

/** Fields of the context that hold text. */
export type TextField =
  | 'deploymentTargetName'
  | 'namespace'
  | 'environment'
  | 'workspace'
  | 'workload'
  | 'clusterType';

/**
 * A cached render: the text of a file, with holes where a text field was printed verbatim. All contexts that agree in the
 * other fields that the template read share it.
 */
export type CachedRender = {
  /** One more than there are holes. */
  readonly pieces: readonly string[];
  readonly holes: readonly TextField[];
  readonly isEmpty: boolean;
};
