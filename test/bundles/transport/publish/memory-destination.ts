import { childrenOf, type Descriptor, isManifestType, parseManifest } from '#bundles/formats/layout/manifest';
import { type Digest, digestOf, isDigest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { missingBlob } from '#bundles/formats/layout/verified';
import type { Destination } from '#bundles/transport/publish/destination';
import type { Registry, Repository } from '#bundles/transport/registry/registry';

type Content = { readonly mediaType: string; readonly bytes: Buffer };

/** A registry in memory that refuses, as real ones do, a manifest whose parts are not there. */
export type MemoryRegistry = Destination &
  Registry & {
    /** 'prod/kiosk:release' to what it names. */
    readonly tags: Map<string, Digest>;
    readonly repository: (path: string) => Repository;
    /** 'prod/kiosk@sha256:...' */
    readonly content: Map<string, Content>;
    /** 'PUT prod/kiosk:release' ... as they came. */
    readonly requests: string[];
    /** Called before each request; may throw, or do what another client does. */
    before: (request: string) => void | Promise<void>;
  };

export const memoryRegistry = (): MemoryRegistry => {
  const tags = new Map<string, Digest>();
  const content = new Map<string, Content>();
  const requests: string[] = [];
  const registry: MemoryRegistry = {
    name: 'oci://memory.test/fleet',
    address: { host: 'memory.test', prefix: 'fleet' },
    hasReferrers: true,
    tags,
    content,
    requests,
    before: () => {},
    repository: (path) => target(path),
    repositories: async () =>
      [...new Set([...tags.keys()].map((name) => name.split(':')[0] ?? ''))].toSorted(),
    [Symbol.asyncDispose]: async () => {},
  };
  const request = async (text: string): Promise<void> => {
    requests.push(text);
    await registry.before(text);
  };
  const target = (path: string): Repository => {
    const find = (reference: string): Digest | undefined =>
      isDigest(reference) ? reference : tags.get(`${path}:${reference}`);
    const get = (digest: Digest): Content | undefined => content.get(`${path}@${digest}`);
    const describeContent = (digest: Digest): Descriptor | undefined => {
      const found = get(digest);
      return found && { mediaType: found.mediaType, digest, size: found.bytes.byteLength };
    };
    return {
      name: `memory.test/fleet/${path}`,
      resolve: async (reference) => {
        await request(`HEAD ${path}:${reference}`);
        const digest = find(reference);
        return digest && describeContent(digest);
      },
      fetchManifest: async (reference) => {
        await request(`GET ${path}:${reference}`);
        const digest = find(reference);
        const descriptor = digest && describeContent(digest);
        return descriptor && { descriptor, bytes: get(descriptor.digest)?.bytes ?? Buffer.alloc(0) };
      },
      blobs: {
        name: `memory.test/fleet/${path}`,
        size: async (digest) => get(digest)?.bytes.byteLength,
        open: async (digest) => {
          await request(`GET ${path}@${digest}`);
          const found = get(digest);
          if (!found) throw missingBlob(digest, path);
          return one(found.bytes);
        },
      },
      pushBlob: async ({ digest }, open, options) => {
        await request(`PUT ${path}@${digest}`);
        if (get(digest)) return 'there';
        const elsewhere = options?.mountFrom && content.get(`${options.mountFrom}@${digest}`);
        if (elsewhere) {
          content.set(`${path}@${digest}`, elsewhere);
          return 'mounted';
        }
        const bytes = Buffer.concat(await Array.fromAsync(await open()));
        if (digestOf(bytes) !== digest) throw new FleetError('REGISTRY_REFUSED', 'digest invalid');
        content.set(`${path}@${digest}`, { mediaType: 'application/octet-stream', bytes });
        return 'uploaded';
      },
      pushManifest: async (reference, { mediaType, bytes }) => {
        await request(`PUT ${path}:${reference}`);
        const manifest = parseManifest(bytes);
        // What a list of referrers names need not be there (OCI distribution spec 1.1).
        const parts = reference.startsWith('sha256-') ? [] : childrenOf(manifest);
        for (const { digest } of parts) {
          if (!get(digest)) throw new FleetError('REGISTRY_REFUSED', `manifest blob unknown: ${digest}`);
        }
        const digest = digestOf(bytes);
        content.set(`${path}@${digest}`, { mediaType, bytes: Buffer.from(bytes) });
        if (!isDigest(reference)) tags.set(`${path}:${reference}`, digest);
      },
      tags: async () => {
        await request(`GET ${path}/tags`);
        const mine = [...tags.keys()].filter((name) => name.startsWith(`${path}:`));
        return mine.map((name) => name.slice(path.length + 1)).toSorted();
      },
      removeTag: async (tag) => {
        await request(`DELETE ${path}:${tag}`);
        tags.delete(`${path}:${tag}`);
      },
      referrers: async (digest) => {
        await request(`GET ${path}/referrers/${digest}`);
        const list = tags.get(`${path}:${digest.replace(':', '-')}`);
        const found = list && get(list);
        const index = found && parseManifest(found.bytes);
        return index && 'manifests' in index ? index.manifests : [];
      },
    };
  };
  return registry;
};

/** Everything that a repository's tags reach is there. @throws FleetError MISSING_BLOB */
export const checkReachable = (registry: MemoryRegistry, repository: string): void => {
  const visit = (digest: Digest, mediaType: string): void => {
    const found = registry.content.get(`${repository}@${digest}`);
    if (!found) throw missingBlob(digest, repository);
    if (!isManifestType(mediaType)) return;
    for (const child of childrenOf(parseManifest(found.bytes))) visit(child.digest, child.mediaType);
  };
  for (const [tag, digest] of registry.tags) {
    if (!tag.startsWith(`${repository}:`) || tag.includes(':sha256-')) continue;
    visit(digest, registry.content.get(`${repository}@${digest}`)?.mediaType ?? '');
  }
};

async function* one(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
