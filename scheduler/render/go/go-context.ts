import type { TemplateContext } from '../template-context.ts';

/**
 * The struct Kalypso's templates run on (behaviour spec 2.6). A class, so that it is told from a map: a field it does not
 * have is an error, a key a map does not have is not.
 */
export class GoContext {
  readonly DeploymentTargetName: string;
  readonly Namespace: string;
  readonly Environment: string;
  readonly Workspace: string;
  readonly Workload: string;
  readonly Labels: TemplateContext['labels'];
  readonly Manifests: TemplateContext['manifests'];
  readonly ClusterType: string;
  readonly ConfigData: TemplateContext['configData'];

  constructor(context: TemplateContext) {
    this.DeploymentTargetName = context.deploymentTargetName;
    this.Namespace = context.namespace;
    this.Environment = context.environment;
    this.Workspace = context.workspace;
    this.Workload = context.workload;
    this.Labels = context.labels;
    this.Manifests = context.manifests;
    this.ClusterType = context.clusterType;
    this.ConfigData = context.configData;
  }
}

/** The field names in the struct's order. */
export const GO_FIELDS = [
  'DeploymentTargetName',
  'Namespace',
  'Environment',
  'Workspace',
  'Workload',
  'Labels',
  'Manifests',
  'ClusterType',
  'ConfigData',
] as const;

export type GoField = (typeof GO_FIELDS)[number];

export const isGoField = (name: string): name is GoField => (GO_FIELDS as readonly string[]).includes(name);
