import { defined } from '#bundles/defined';
import type { ObjectValue } from '../model/yaml/write-object.ts';
import type { Layer } from './place/layer.ts';

type Labels = Readonly<Record<string, string>>;

/** The fields of a new object, as a person gives them. Absent ones are left out of the file. */
export type NewObject = { readonly name: string } & (
  | {
      readonly kind: 'ClusterType';
      readonly labels: Labels;
      readonly target?: string | undefined;
      readonly reconciler?: string | undefined;
      readonly namespaceService?: string | undefined;
      readonly configType?: string | undefined;
      readonly platforms: readonly string[];
      readonly offline: boolean;
    }
  | {
      readonly kind: 'WorkloadRegistration';
      readonly repo: string;
      readonly branch?: string | undefined;
      readonly ref?: string | undefined;
      readonly path?: string | undefined;
      readonly workspace?: string | undefined;
    }
  | {
      readonly kind: 'SchedulingPolicy';
      readonly workspace?: string | undefined;
      readonly targets: Labels;
      readonly clusterTypes: Labels;
    }
  | {
      readonly kind: 'Config';
      readonly selector: Labels;
      readonly siteSelector?: Labels | undefined;
      readonly fixed: boolean;
      readonly values: Readonly<Record<string, unknown>>;
    }
  | {
      readonly kind: 'Template';
      readonly type: string;
      readonly engine?: string | undefined;
      readonly contentType?: string | undefined;
      readonly manifests: readonly string[];
    }
  | {
      readonly kind: 'Environment';
      readonly repo?: string | undefined;
      readonly branch?: string | undefined;
      readonly path?: string | undefined;
    }
);

const VERSIONS = { fleet: 'fleet-ferry/v1alpha1', kalypso: 'scheduler.kalypso.io/v1alpha1' } as const;

/** The object that the form of the platform has for these fields. Fields that the form does not know stay, and are refused by its schema. */
export const newObject = (form: Layer['form'], given: NewObject): ObjectValue => {
  const isKalypso = form === 'kalypso';
  if (given.kind === 'Config' && isKalypso && given.siteSelector === undefined)
    return {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: given.name, labels: { 'platform-config': 'true', ...given.selector } },
      data: Object.fromEntries(
        Object.entries(given.values).map(([key, value]) => [
          key,
          typeof value === 'string' ? value : JSON.stringify(value),
        ]),
      ),
    };
  const labels = given.kind === 'ClusterType' ? given.labels : {};
  return {
    apiVersion: VERSIONS[form],
    kind: given.kind,
    metadata: { name: given.name, ...filled({ labels }) },
    spec: specOf(given, isKalypso),
  };
};

const specOf = (given: NewObject, isKalypso: boolean): ObjectValue => {
  switch (given.kind) {
    case 'ClusterType': {
      const { target, reconciler, namespaceService, configType, platforms, offline } = given;
      return filled({
        target,
        reconciler,
        namespaceService,
        configType,
        platforms,
        offline: offline ? true : undefined,
      });
    }
    case 'WorkloadRegistration': {
      const { repo, branch, ref, path, workspace } = given;
      return filled({ workload: filled({ repo, branch, ref, path }), workspace });
    }
    case 'SchedulingPolicy': {
      const { workspace, targets, clusterTypes } = given;
      return {
        deploymentTargetSelector: {
          ...filled({ workspace }),
          labelSelector: filled({ matchLabels: targets }),
        },
        clusterTypeSelector: { labelSelector: filled({ matchLabels: clusterTypes }) },
      };
    }
    case 'Config': {
      const { selector, siteSelector, fixed, values } = given;
      return {
        ...filled({ selector }),
        ...defined({ siteSelector }),
        ...filled({ fixed: fixed ? true : undefined }),
        values,
      };
    }
    case 'Template': {
      const { type, engine, contentType, manifests } = given;
      return { type, ...filled({ engine, contentType }), manifests };
    }
    case 'Environment': {
      const { repo, branch, path } = given;
      return isKalypso ? { controlPlane: filled({ repo, branch, path }) } : {};
    }
  }
};

/** Without members that are undefined or empty. */
const filled = (value: Readonly<Record<string, unknown>>): ObjectValue =>
  Object.fromEntries(
    Object.entries(value).filter(
      ([, one]) =>
        one !== undefined && !(typeof one === 'object' && one !== null && Object.keys(one).length === 0),
    ),
  );
