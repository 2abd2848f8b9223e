import type { Descriptor } from '#bundles/bundle/manifest';
import { FleetError, isFleetError } from '#bundles/errors';
import type { BlobSource } from '#bundles/layout/blobs';
import { type Layout, referenceOf } from '#bundles/layout/layout';
import type { Registry, RegistryOptions } from '#bundles/registry/registry';
import { fullReference } from './collect-references.ts';

/** Where images are looked for: layouts on disk, or the registries that their names say. */
export type ImagePlaces = {
  /** For messages. */
  readonly name: string;
  /** What a full reference 'host/repo:tag' names, and where its blobs are; undefined when it is not there. */
  readonly find: (
    reference: string,
    signal: AbortSignal,
  ) => Promise<{ readonly descriptor: Descriptor; readonly source: BlobSource } | undefined>;
};

/** Full names as skopeo, containerd and our own tools write them into index.json. */
const CONTAINERD_NAME = 'io.containerd.image.name';

/** Images of an OCI layout by the full names in its index. Without the network. */
export const layoutPlaces = ({ directory, blobs, manifests }: Layout): ImagePlaces => {
  const byName = new Map<string, Descriptor>();
  for (const descriptor of manifests) {
    for (const name of [referenceOf(descriptor), descriptor.annotations?.[CONTAINERD_NAME]]) {
      if (name !== undefined && !name.includes('@')) byName.set(fullReference(name), descriptor);
    }
  }
  return {
    name: directory,
    find: async (reference) => {
      const descriptor = byName.get(reference);
      return descriptor && { descriptor, source: blobs };
    },
  };
};

/** Registries by the hosts that image names begin with, each opened once. */
export type ImageRegistries = AsyncDisposable & {
  /** @param name 'host/repo' with or without tag and digest */
  readonly repository: (name: string) => ReturnType<Registry['repository']>;
};

/** The name everybody writes, and the host that answers. */
const DOCKER_HUB = { name: 'docker.io', host: 'registry-1.docker.io' };

/** @param open how one host is opened: `openRegistry` with the options of the command */
export const openImageRegistries = (
  options: RegistryOptions,
  open: (address: Registry['address'], options: RegistryOptions) => Registry,
): ImageRegistries => {
  const opened = new Map<string, Registry>();
  return {
    repository: (name) => {
      const path = name.replace(/@.*$/, '').replace(/:[^/:]*$/, '');
      const slash = path.indexOf('/');
      const said = path.slice(0, slash);
      const host = said === DOCKER_HUB.name ? DOCKER_HUB.host : said;
      const registry = opened.get(host) ?? open({ host, prefix: '' }, options);
      opened.set(host, registry);
      return registry.repository(path.slice(slash + 1));
    },
    [Symbol.asyncDispose]: async () => {
      for (const registry of opened.values()) await registry[Symbol.asyncDispose]();
    },
  };
};

/** A host that did not answer for one image is not waited for again with the next. */
export const registryPlaces = (registries: ImageRegistries): ImagePlaces => {
  const silent = new Map<string, FleetError>();
  return {
    name: 'its registry',
    find: async (reference, signal) => {
      const host = reference.slice(0, reference.indexOf('/'));
      const before = silent.get(host);
      if (before) throw notAsked(reference, host, before);
      const repository = registries.repository(reference);
      const tag = reference.slice(reference.lastIndexOf(':') + 1);
      try {
        const descriptor = await repository.resolve(tag, signal);
        return descriptor && { descriptor, source: repository.blobs };
      } catch (error) {
        if (isFleetError(error, 'REGISTRY_UNREACHABLE')) silent.set(host, error);
        throw error;
      }
    },
  };
};

const notAsked = (reference: string, host: string, before: FleetError): FleetError =>
  new FleetError(
    before.code,
    `${reference} was not looked for: ${host} did not answer for the image before it`,
    {
      ...(before.hint !== undefined && { hint: before.hint }),
      cause: before,
    },
  );
