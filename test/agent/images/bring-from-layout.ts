/**
 * Brings one image of an OCI layout into a containerd, as a process of its own that a test can kill or run inside a node:
 * `node bring-from-layout.ts <layout> <socket> <host/repo@sha256:...> <media type> [bytes a second]`.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { parseDigest } from '#bundles/digest';
import type { BlobSource } from '#bundles/formats/layout/blobs';
import { openLayout } from '#bundles/formats/layout/layout';
import { containerdProvider } from '../../../agent/images/containerd/containerd-provider.ts';
import { openCtr } from '../../../agent/images/containerd/open-ctr.ts';

const [directory = '', socket = '', name = '', mediaType = '', rate = '0'] = process.argv.slice(2);
const { blobs } = await openLayout(directory);
const digest = parseDigest(name.slice(name.indexOf('@') + 1));
const size = (await blobs.size(digest)) ?? 0;

/** As slow as a stick, so that there is a middle to be killed in. */
async function* slowly(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const chunk of content) {
    yield chunk;
    if (Number(rate) > 0) await sleep((chunk.byteLength / Number(rate)) * 1000);
  }
}

const source: BlobSource = {
  ...blobs,
  open: async (wanted, signal) => slowly(await blobs.open(wanted, signal)),
};
const { signal } = new AbortController();
const provider = containerdProvider(socket, openCtr(socket, process.env));
console.log(await provider.bring({ digest, size, mediaType, names: [name] }, source, signal));
