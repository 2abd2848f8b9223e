import type { Descriptor } from '#bundles/formats/layout/manifest';
import { FleetError, isFleetError } from '#bundles/errors';
import { normaliseImageName } from '#bundles/formats/bundle/image-name';
import type { BlobSource } from '#bundles/formats/layout/blobs';
import { type Layout, referenceOf } from '#bundles/formats/layout/layout';
import type { Registry, RegistryOptions } from '#bundles/transport/registry/registry';
import type { Beside } from './find-attachments.ts';
import { layoutBeside } from './layout-beside.ts';

/** Where images are looked up: a layout on disk, or the registries in their names. */
export type ImagePlaces = {
  /** For messages. */
  readonly name: string;
  /**
   * Resolves a full reference 'host/repo:tag' to its descriptor and the source of its blobs; undefined when it does not
   * exist.
   */
  readonly find: (
    reference: string,
    signal: AbortSignal,
  ) => Promise<{ readonly descriptor: Descriptor; readonly source: BlobSource } | undefined>;
  /** Where attachments of a repository's images may be. @param repository 'host/repo' */
  readonly beside: (repository: string) => Beside;
};

/** Annotation in index.json with a full image name, as containerd writes it. */
const CONTAINERD_NAME = 'io.containerd.image.name';

/** Images of an OCI layout, by the full names in its index. Uses no network. */
export const layoutPlaces = ({ directory, blobs, manifests }: Layout): ImagePlaces => {
  const byName = new Map<string, Descriptor>();
  for (const descriptor of manifests) {
    for (const name of [referenceOf(descriptor), descriptor.annotations?.[CONTAINERD_NAME]]) {
      if (name !== undefined && !name.includes('@')) byName.set(normaliseImageName(name), descriptor);
    }
  }
  const here = layoutBeside({ blobs, manifests });
  return {
    name: directory,
    beside: () => here,
    find: async (reference) => {
      const descriptor = byName.get(reference);
      return descriptor && { descriptor, source: blobs };
    },
  };
};

/** Opens each registry once, by the host in an image name. */
export type ImageRegistries = AsyncDisposable & {
  /** @param name 'host/repo', with or without tag and digest */
  readonly repository: (name: string) => ReturnType<Registry['repository']>;
};

/** Docker Hub's name in references, and the host that serves it. */
const DOCKER_HUB = { name: 'docker.io', host: 'registry-1.docker.io' };

/** @param open opens one host: `openRegistry` with the options of the command */
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

/** Images in registries. A host that did not respond for one image is not contacted for the next. */
export const registryPlaces = (registries: ImageRegistries): ImagePlaces => {
  const silent = new Map<string, FleetError>();
  const answered = async <T>(host: string, question: () => Promise<T>): Promise<T> => {
    try {
      return await question();
    } catch (error) {
      if (isFleetError(error, 'REGISTRY_UNREACHABLE')) silent.set(host, error);
      throw error;
    }
  };
  return {
    name: 'its registry',
    find: async (reference, signal) => {
      const host = reference.slice(0, reference.indexOf('/'));
      const before = silent.get(host);
      if (before) throw notAsked(reference, host, before);
      const repository = registries.repository(reference);
      const tag = reference.slice(reference.lastIndexOf(':') + 1);
      const descriptor = await answered(host, () => repository.resolve(tag, signal));
      return descriptor && { descriptor, source: repository.blobs };
    },
    beside: (name) => {
      const host = name.slice(0, name.indexOf('/'));
      const repository = registries.repository(name);
      const ask = <T>(question: () => Promise<T>): Promise<T> => {
        const before = silent.get(host);
        if (before) throw before;
        return answered(host, question);
      };
      return {
        blobs: repository.blobs,
        referrers: async (about, signal) =>
          (await ask(() => repository.referrers(about, signal))).map(({ digest }) => digest),
        tagged: async (tag, signal) => (await ask(() => repository.resolve(tag, signal)))?.digest,
      };
    },
  };
};

const notAsked = (reference: string, host: string, before: FleetError): FleetError =>
  new FleetError(
    before.code,
    `${reference} was not looked for: ${host} did not answer for the image before it`,
    {
      hint: before.hint,
      cause: before,
    },
  );
