import { FleetError } from '../../../bundles/errors.ts';
import { moduleFile } from './module-files.ts';
import type { Part } from './part.ts';

export const argoDefinitions = moduleFile({
  title: "Argo CD's Application definition",
  variable: 'FLEET_ARGO_DEFINITIONS',
  name: 'argo-definitions',
  module: 'github.com/argoproj/argo-cd/v3@v3.5.7',
  path: 'manifests/crds/application-crd.yaml',
});

/** The oldest one that the Template argocd is for. */
export const argoDefinitions2 = moduleFile({
  title: "Argo CD's Application definition of 2.14",
  variable: 'FLEET_ARGO_DEFINITIONS_2',
  name: 'argo-definitions-2',
  module: 'github.com/argoproj/argo-cd/v2@v2.14.21',
  path: 'manifests/crds/application-crd.yaml',
});

/** The newest one. */
export const rancherFleetDefinitions15 = moduleFile({
  title: "Rancher Fleet's definitions of 0.15",
  variable: 'FLEET_RANCHER_FLEET_DEFINITIONS_15',
  name: 'rancher-fleet-definitions-15',
  module: 'github.com/rancher/fleet@v0.15.0',
  path: 'charts/fleet-crd/templates/crds.yaml',
});

export const rancherFleetDefinitions = moduleFile({
  title: "Rancher Fleet's definitions",
  variable: 'FLEET_RANCHER_FLEET_DEFINITIONS',
  name: 'rancher-fleet-definitions',
  module: 'github.com/rancher/fleet@v0.12.0',
  path: 'charts/fleet-crd/templates/crds.yaml',
});

export const zarfSchema = moduleFile({
  title: "Zarf's JSON schema",
  variable: 'FLEET_ZARF_SCHEMA',
  name: 'zarf-schema',
  module: 'github.com/zarf-dev/zarf@v0.65.0',
  path: 'zarf.schema.json',
});

/** Symphony publishes its definitions in its repository only: who has it names a folder of theirs. */
export const symphonyDefinitions: Part = {
  title: "Symphony's definitions",
  variable: 'FLEET_SYMPHONY_DEFINITIONS',
  source: 'nothing: no registry has them',
  find: () => undefined,
  install: async () => {
    throw new FleetError(
      'TOOL_MISSING',
      "No registry has Symphony's definitions; FLEET_SYMPHONY_DEFINITIONS can name k8s/config/oss/crd/bases of its repository.",
    );
  },
};
