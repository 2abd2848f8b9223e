/**
 * Pulls images as the agent does: its registry client, its verification, its store with fsync and rename.
 * `node pull-into-store.ts <host:port> <repository> <directory> <tag>...`
 */
import { childrenOf, parseManifest } from '../../bundles/formats/layout/manifest.ts';
import type { Digest } from '../../bundles/digest.ts';
import { inParallel } from '../../bundles/in-parallel.ts';
import { openBlobDirectory } from '../../bundles/formats/layout/blob-directory.ts';
import { openRegistry } from '../../bundles/transport/registry/open-registry.ts';

const [host = '', path = '', directory = '', ...tags] = process.argv.slice(2);
const signal = new AbortController().signal;
await using registry = openRegistry({ host, prefix: '' }, { plainHttp: [], env: {} });
const repository = registry.repository(path);
const store = openBlobDirectory(directory);

const sizes = new Map<Digest, number>();
for (const tag of tags) {
  const manifest = await repository.fetchManifest(tag, signal);
  if (!manifest) throw new Error(`there is no ${tag}`);
  const { digest, size } = manifest.descriptor;
  await store.write(digest, size, manifest.bytes);
  for (const child of childrenOf(parseManifest(manifest.bytes))) sizes.set(child.digest, child.size);
}
const pull = async ([digest, size]: [Digest, number], stop: AbortSignal): Promise<void> => {
  await store.write(digest, size, await repository.blobs.open(digest, stop), stop);
};
await inParallel(sizes.entries(), 4, pull, signal);
