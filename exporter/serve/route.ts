import { type Digest, isDigest } from '#bundles/digest';

/** The resource that the path of a request names. */
export type Route =
  | { readonly kind: 'version' | 'catalog' }
  | { readonly kind: 'tags'; readonly repository: string }
  | { readonly kind: 'manifest'; readonly repository: string; readonly reference: string }
  | { readonly kind: 'blob' | 'referrers'; readonly repository: string; readonly digest: Digest }
  | { readonly kind: 'bad-digest' }
  | { readonly kind: 'unknown' };

const CONTENT = /^\/v2\/(.+)\/(manifests|blobs|referrers)\/([^/]+)$/;
const TAGS = /^\/v2\/(.+)\/tags\/list$/;

/** The read endpoints of OCI distribution spec 1.1, "Endpoints". */
export const routeOf = (url: URL): Route => {
  const path = decoded(url.pathname);
  if (path === undefined) return { kind: 'unknown' };
  if (path === '/v2/' || path === '/v2') return { kind: 'version' };
  if (path === '/v2/_catalog') return { kind: 'catalog' };
  const [, repository = '', kind, reference = ''] = CONTENT.exec(path) ?? [];
  if (kind === undefined) {
    const [, tagged] = TAGS.exec(path) ?? [];
    return tagged === undefined ? { kind: 'unknown' } : { kind: 'tags', repository: tagged };
  }
  if (kind === 'manifests') {
    if (reference.includes(':') && !isDigest(reference)) return { kind: 'bad-digest' };
    return { kind: 'manifest', repository, reference };
  }
  if (!isDigest(reference)) return { kind: 'bad-digest' };
  return { kind: kind === 'blobs' ? 'blob' : 'referrers', repository, digest: reference };
};

const decoded = (path: string): string | undefined => {
  try {
    return decodeURIComponent(path);
  } catch {
    return undefined;
  }
};
