import type { TemplateContext } from '../../../model/template-context.ts';

/**
 * The struct that Kalypso's templates run on (behaviour spec 2.6). It is a class so that it differs from a map: an unknown
 * field is an error, an unknown map key is not. A field is read from the context only when the template reads it.
 */
export class GoContext {
  readonly #context: TemplateContext;

  constructor(context: TemplateContext) {
    this.#context = context;
  }

  get DeploymentTargetName(): string {
    return this.#context.deploymentTargetName;
  }
  get Namespace(): string {
    return this.#context.namespace;
  }
  get Environment(): string {
    return this.#context.environment;
  }
  get Workspace(): string {
    return this.#context.workspace;
  }
  get Workload(): string {
    return this.#context.workload;
  }
  get Labels(): TemplateContext['labels'] {
    return this.#context.labels;
  }
  get Manifests(): TemplateContext['manifests'] {
    return this.#context.manifests;
  }
  get ClusterType(): string {
    return this.#context.clusterType;
  }
  get ConfigData(): TemplateContext['configData'] {
    return this.#context.configData;
  }

  entries(): [GoField, GoContext[GoField]][] {
    return GO_FIELDS.map((field) => [field, this[field]]);
  }
}

/** Field names in the order of the Go struct. */
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
