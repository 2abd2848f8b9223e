import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { encodeManifest } from '#bundles/formats/layout/manifest';
import { type Digest, digestOf, hexOf } from '#bundles/digest';
import { type Document, toDescriptor } from '#bundles/formats/layout/document';
import {
  LEASE_ARTIFACT,
  OCI_EMPTY,
  OCI_MANIFEST,
  RECEIPTS_ARTIFACT,
  RELEASE_ARTIFACT,
  SITE_ARTIFACT,
} from '#bundles/media-types';
import { MEDIUM_FILE, type Medium } from '#bundles/formats/medium/medium';
import { openRegistry } from '#bundles/transport/registry/open-registry';
import type { Registry } from '#bundles/transport/registry/registry';
import { parseRegistryAddress } from '#bundles/transport/registry/registry-address';

/** How a request is answered instead of well; undefined: well. */
export type Mischief = (request: IncomingMessage, response: ServerResponse) => boolean;

/** A small registry over real HTTP, which can be made to lie, cut, refuse and hang. */
export type RegistryServer = AsyncDisposable & {
  readonly address: string;
  /** '<METHOD> <path>' of every request since the last reset. */
  readonly asked: string[];
  /** '<range> <digest>' of every request with a range. */
  readonly ranges: string[];
  /** Puts everything on a medium where an agent looks for it. */
  readonly publish: (medium: string) => void;
  /** What a tag names. */
  readonly tags: Map<string, Digest>;
  readonly blobs: Map<Digest, Buffer>;
  mischief: Mischief | undefined;
  /** A client whose waits take no time. */
  readonly open: () => Registry;
};

const RELEASE_ROLES = new Set(['root', 'release', 'bundle', 'revocations']);
const SITE_ROLES = new Set(['root', 'site', 'site-values', 'secrets']);

export const startRegistryServer = async (): Promise<RegistryServer> => {
  const tags = new Map<string, Digest>();
  const blobs = new Map<Digest, Buffer>();
  const asked: string[] = [];
  const ranges: string[] = [];
  const artifact = (
    repository: string,
    tag: string,
    artifactType: string,
    documents: readonly Document[],
  ): void => {
    const empty = Buffer.from('{}');
    blobs.set(digestOf(empty), empty);
    const config = { mediaType: OCI_EMPTY, digest: digestOf(empty), size: empty.byteLength };
    const layers = documents.map((one) => toDescriptor(one));
    const { bytes, descriptor } = encodeManifest({
      schemaVersion: 2,
      mediaType: OCI_MANIFEST,
      artifactType,
      config,
      layers,
    });
    blobs.set(descriptor.digest, bytes);
    tags.set(`fleet/${repository}:${tag}`, descriptor.digest);
  };
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    if (it.mischief?.(request, response)) return;
    const { range } = request.headers;
    if (range !== undefined) ranges.push(`${range} ${request.url?.split('/').at(-1)}`);
    answer(request, response, tags, blobs);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = `oci://127.0.0.1:${(server.address() as AddressInfo).port}/fleet`;
  const it: RegistryServer = {
    address,
    asked,
    ranges,
    tags,
    blobs,
    mischief: undefined,
    publish: (medium) => {
      const { documents, bundles } = JSON.parse(readFileSync(join(medium, MEDIUM_FILE), 'utf8')) as Medium;
      const folder = join(medium, 'blobs/sha256');
      mkdirSync(folder, { recursive: true });
      for (const hex of readdirSync(folder)) blobs.set(`sha256:${hex}`, readFileSync(join(folder, hex)));
      const site = documents.find(({ role }) => role === 'site')?.site;
      if (site)
        artifact(
          `sites/${site}`,
          'site',
          SITE_ARTIFACT,
          documents.filter(({ role }) => SITE_ROLES.has(role)),
        );
      const receipts = documents.filter(({ role }) => role === 'receipt');
      const receiver = receipts[0]?.agent?.split('/')[0];
      if (receiver) artifact(`sites/${receiver}`, 'receipts', RECEIPTS_ARTIFACT, receipts);
      const leases = documents.filter(({ role }) => role === 'lease');
      const [leased] = leases;
      if (leased) {
        const roots = documents.filter(({ role }) => role === 'root');
        artifact(`${leased.environment}/${leased.clusterType}`, 'lease', LEASE_ARTIFACT, [
          ...roots,
          ...leases,
        ]);
      }
      for (const { digest, environment, clusterType } of bundles) {
        const repository = `${environment}/${clusterType}`;
        tags.set(`fleet/${repository}:b-${hexOf(digest)}`, digest);
        artifact(
          repository,
          'release',
          RELEASE_ARTIFACT,
          documents.filter(({ role }) => RELEASE_ROLES.has(role)),
        );
      }
    },
    open: () =>
      openRegistry(parseRegistryAddress(address), { plainHttp: [], env: {}, sleep: async () => {} }),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return it;
};

const answer = (
  { method, url = '', headers }: IncomingMessage,
  response: ServerResponse,
  tags: ReadonlyMap<string, Digest>,
  blobs: ReadonlyMap<Digest, Buffer>,
): void => {
  if (url === '/v2/') {
    response.end('{}');
    return;
  }
  const [, name = '', kind, reference = ''] = /^\/v2\/(.+)\/(manifests|blobs)\/(.+)$/.exec(url) ?? [];
  const digest = reference.startsWith('sha256:') ? (reference as Digest) : tags.get(`${name}:${reference}`);
  const bytes = digest && blobs.get(digest);
  if (!kind || !digest || !bytes) {
    response.writeHead(404).end('{"errors":[{"code":"MANIFEST_UNKNOWN"}]}');
    return;
  }
  const from = Number(/^bytes=(\d+)-/.exec(headers.range ?? '')?.[1] ?? 0);
  response.writeHead(from > 0 ? 206 : 200, {
    'content-type': kind === 'manifests' ? OCI_MANIFEST : 'application/octet-stream',
    'content-length': bytes.byteLength - from,
    'docker-content-digest': digest,
    ...(from > 0 ? { 'content-range': `bytes ${from}-${bytes.byteLength - 1}/${bytes.byteLength}` } : {}),
  });
  response.end(method === 'HEAD' ? undefined : bytes.subarray(from));
};
