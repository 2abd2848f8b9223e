import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { toFleetError } from '../../bundles/errors.ts';
import { age } from './parts/age.ts';
import { airGap } from './parts/air-gap.ts';
import { alertmanager } from './parts/alertmanager.ts';
import { ansible } from './parts/ansible.ts';
import { ansible219 } from './parts/ansible-2-19.ts';
import { ansible221 } from './parts/ansible-2-21.ts';
import { ansibleCollections } from './parts/ansible-collections.ts';
import { argoCd } from './parts/argo-cd.ts';
import { busybox } from './parts/busybox.ts';
import { cacheDirectory } from './parts/cache-folder.ts';
import { chromium } from './parts/chromium.ts';
import { containerd } from './parts/containerd.ts';
import { containerd17 } from './parts/containerd-1-7.ts';
import { containerd2 } from './parts/containerd-2.ts';
import { cosign } from './parts/cosign.ts';
import { cosign2 } from './parts/cosign-2.ts';
import { debianMirror } from './parts/debian-mirror.ts';
import { distribution3 } from './parts/distribution-3.ts';
import { dockerRegistry } from './parts/docker-registry.ts';
import { exfat } from './parts/exfat.ts';
import { factoryBase } from './parts/factory-base.ts';
import { factoryBase13 } from './parts/factory-base-13.ts';
import { factoryBaseSid } from './parts/factory-base-sid.ts';
import { faketime } from './parts/faketime.ts';
import { flux } from './parts/flux.ts';
import { fluxHelm } from './parts/flux-helm.ts';
import { fluxSsa } from './parts/flux-ssa.ts';
import { gitopsEngine } from './parts/gitops-engine.ts';
import { helm } from './parts/helm.ts';
import { helm4 } from './parts/helm-4.ts';
import { jsonSchemaSuite } from './parts/json-schema-suite.ts';
import { k3d } from './parts/k3d.ts';
import { kalypsoCases } from './parts/kalypso-cases.ts';
import { kapp } from './parts/kapp.ts';
import { kappCases } from './parts/kapp-cases.ts';
import { kstatus } from './parts/kstatus.ts';
import { kube } from './parts/kube.ts';
import { kube137 } from './parts/kube-1-37.ts';
import { kustomize } from './parts/kustomize.ts';
import { kwok } from './parts/kwok.ts';
import { needrestart } from './parts/needrestart.ts';
import { nodeBase } from './parts/node-base.ts';
import { grafanaSchema } from './parts/grafana-schema.ts';
import { ociregistry } from './parts/ociregistry.ts';
import { oras } from './parts/oras.ts';
import type { Machine, Part } from './parts/part.ts';
import { partVersion } from './parts/part-version.ts';
import { pkcs11 } from './parts/pkcs11.ts';
import { podman } from './parts/podman.ts';
import { podmanHost } from './parts/podman-host.ts';
import { podmanHost58 } from './parts/podman-host-5-8.ts';
import { postgresql } from './parts/postgresql.ts';
import { promtool } from './parts/promtool.ts';
import { pythonTuf } from './parts/python-tuf.ts';
import { qemuArm64 } from './parts/qemu-arm64.ts';
import { rancherFleet } from './parts/rancher-fleet.ts';
import { redis } from './parts/redis.ts';
import { rauc } from './parts/rauc.ts';
import {
  argoDefinitions,
  argoDefinitions2,
  rancherFleetDefinitions,
  rancherFleetDefinitions15,
  symphonyDefinitions,
  zarfSchema,
} from './parts/reconciler-schemas.ts';
import { schemathesis } from './parts/schemathesis.ts';
import { skopeo } from './parts/skopeo.ts';
import { slsaVerifier } from './parts/slsa-verifier.ts';
import { sops } from './parts/sops.ts';
import { wine } from './parts/wine.ts';
import { zarf } from './parts/zarf.ts';

/** Every real neighbour that a test may ask for. To add one: a module in parts/ and a line here. */
const PARTS = {
  age,
  airGap,
  alertmanager,
  ansible,
  ansible219,
  ansible221,
  ansibleCollections,
  jsonSchemaSuite,
  kalypsoCases,
  cosign,
  cosign2,
  oras,
  skopeo,
  debianMirror,
  dockerRegistry,
  distribution3,
  ociregistry,
  grafanaSchema,
  pythonTuf,
  rancherFleet,
  factoryBase,
  factoryBase13,
  factoryBaseSid,
  needrestart,
  nodeBase,
  exfat,
  busybox,
  chromium,
  containerd,
  containerd17,
  containerd2,
  faketime,
  flux,
  fluxHelm,
  fluxSsa,
  gitopsEngine,
  helm,
  helm4,
  k3d,
  kapp,
  kappCases,
  kstatus,
  kube,
  kube137,
  kustomize,
  kwok,
  pkcs11,
  podman,
  podmanHost,
  podmanHost58,
  postgresql,
  promtool,
  qemuArm64,
  rauc,
  schemathesis,
  slsaVerifier,
  sops,
  argoDefinitions,
  argoDefinitions2,
  rancherFleetDefinitions,
  rancherFleetDefinitions15,
  symphonyDefinitions,
  zarfSchema,
  redis,
  wine,
  // The longest builds come last.
  argoCd,
  zarf,
} as const satisfies Record<string, Part>;

export type PartName = keyof typeof PARTS;

export const PART_NAMES = Object.keys(PARTS) as readonly PartName[];

export type Found =
  | { readonly present: true; readonly path: string }
  | { readonly present: false; readonly reason: string };

/** Looks for a part without installing anything: the environment's word first, then this machine. */
export const findPart = (name: PartName, machine: Machine = thisMachine()): Found => {
  const part: Part = PARTS[name];
  const given = machine.env[part.variable];
  if (given) {
    if (existsSync(given)) return { present: true, path: given };
    return { present: false, reason: `${part.variable} names ${given}, which does not exist.` };
  }
  const path = part.find(machine);
  if (path !== undefined) return { present: true, path };
  const reason =
    machine.env[absence(part)] || `${part.title} is not installed here; \`npm test\` installs it.`;
  return { present: false, reason };
};

/** As findPart, but gets the part where it can be had. `onInstall` hears of it first, as it may take minutes. */
export const installPart = async (
  name: PartName,
  machine: Machine,
  onInstall: (source: string) => void,
): Promise<Found> => {
  const part: Part = PARTS[name];
  const found = findPart(name, machine);
  if (found.present || machine.env[part.variable]) return found;
  onInstall(part.source);
  try {
    return { present: true, path: await part.install(machine) };
  } catch (error) {
    return { present: false, reason: toFleetError(error).message };
  }
};

/** The environment of the tests' processes, so that all of them see the same parts. */
export const partFacts = (found: Readonly<Partial<Record<PartName, Found>>>): Record<string, string> =>
  Object.fromEntries(
    PART_NAMES.flatMap((name) => {
      const fact = found[name];
      if (fact === undefined) return [];
      const part: Part = PARTS[name];
      return [fact.present ? [part.variable, fact.path] : [absence(part), fact.reason]];
    }),
  );

/** Whether its install is a build that keeps all cores busy. */
export const isBuilt = (name: PartName): boolean => {
  const part: Part = PARTS[name];
  return part.isBuilt === true;
};

/** Whether tests of every run ask for it. */
export const isOfEveryRun = (name: PartName): boolean => {
  const part: Part = PARTS[name];
  return part.onlyInLong !== true;
};

/** Its version at a path that was found. */
export const versionOf = (name: PartName, path: string, machine: Machine = thisMachine()): Promise<string> =>
  partVersion(PARTS[name], path, machine);

/** How a part is called when a person reads of it. */
export const partTitle = (name: PartName): string => PARTS[name].title;

export const thisMachine = (env: NodeJS.ProcessEnv = process.env, signal?: AbortSignal): Machine => ({
  env,
  cache: cacheDirectory(env),
  repository: join(import.meta.dirname, '../..'),
  ...(signal && { signal }),
});

const absence = (part: Part): string => `${part.variable}_ABSENT`;

const known = new Map<PartName, Found>();

const look = (name: PartName): Found => {
  const found = known.get(name) ?? findPart(name);
  known.set(name, found);
  return found;
};

/** The path of each part, or the reason why it is absent; each is looked for when it is first asked for. */
export const parts = Object.defineProperties(
  {},
  Object.fromEntries(PART_NAMES.map((name) => [name, { get: () => look(name), enumerable: true }])),
) as { readonly [Name in PartName]: Found };
