import { readdir, readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { HubServer } from './hub-server.ts';

/** Where the page is. The address of the hub itself redirects to it. */
export const PAGE_PATH = '/ui/';

/** Output of `npm run build:page`: index.html, and assets with the hash of their content in their names. */
const BUILT = join(import.meta.dirname, '../../page/dist');

const NOT_BUILT = `The page of this hub is not built. Run "npm run build:page" in the checkout and start the hub again; its API is at /v1.\n`;

const STALE =
  'The page has no such file. A page from before an upgrade of the hub asks for older ones: reload it.\n';

const TEXT = 'text/plain; charset=utf-8';

/** All scripts, styles and answers come from the hub; nothing inline runs, and no other site may frame the page. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ');

const HEADERS = {
  'content-security-policy': POLICY,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
};

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.txt': TEXT,
};

/**
 * Adds the page of the hub. It needs no credential: all it shows comes from the API, which wants one.
 * @param built its folder; one that does not exist leaves a sentence in its place
 */
export const pageRoutes = async (
  server: HubServer,
  limited: { readonly config: object },
  built = BUILT,
): Promise<void> => {
  const files = await readBuilt(built);
  server.get('/', limited, async (_, reply) => reply.redirect(PAGE_PATH));
  // The page's own address of its first view, which a reload asks for.
  server.get(PAGE_PATH.slice(0, -1), limited, async (request, reply) => answer(files, request, reply));
  server.get(`${PAGE_PATH}*`, limited, async (request, reply) => answer(files, request, reply));
};

type File = { readonly bytes: Buffer; readonly gzip: Buffer };

/** All files by their path below `folder`: a few, and less than a megabyte. */
const readBuilt = async (folder: string): Promise<ReadonlyMap<string, File>> => {
  const names = await readdir(folder, { recursive: true }).catch(() => []);
  const read = names
    .filter((name) => extname(name) in TYPES)
    .map(async (name) => {
      const bytes = await readFile(join(folder, name));
      return [name, { bytes, gzip: gzipSync(bytes, { level: 9 }) }] as const;
    });
  return new Map(await Promise.all(read));
};

const answer = (
  files: ReadonlyMap<string, File>,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply => {
  const { '*': path = '' } = request.params as { readonly '*'?: string };
  void reply.headers(HEADERS);
  const file = files.get(path);
  if (file !== undefined && path !== INDEX) return sendFile(request, reply, path, file);
  if (path.startsWith(ASSETS)) return reply.code(404).type(TEXT).send(STALE);
  // Every other path is a view, which the page itself finds.
  const index = files.get(INDEX);
  if (index === undefined) return reply.code(503).type(TEXT).send(NOT_BUILT);
  return sendFile(request, reply, INDEX, index);
};

const INDEX = 'index.html';
const ASSETS = 'assets/';

const sendFile = (
  request: FastifyRequest,
  reply: FastifyReply,
  path: string,
  { bytes, gzip }: File,
): FastifyReply => {
  void reply
    .header('cache-control', path.startsWith(ASSETS) ? 'public, max-age=31536000, immutable' : 'no-cache')
    .header('vary', 'accept-encoding')
    .type(TYPES[extname(path)] ?? 'application/octet-stream');
  if (!/\bgzip\b/.test(request.headers['accept-encoding'] ?? '')) return reply.send(bytes);
  return reply.header('content-encoding', 'gzip').send(gzip);
};
