import { digestOf } from '#bundles/digest';
import { isFleetError } from '#bundles/errors';
import { parseChallenges } from '#bundles/transport/registry/http/challenge';
import { parseDockerConfig } from '#bundles/transport/registry/http/docker-config';
import { listReferrers } from '#bundles/transport/registry/list-referrers';
import { listTags } from '#bundles/transport/registry/list-tags';
import { nextPageOf } from '#bundles/transport/registry/list-pages';
import { parseRegistryAddress } from '#bundles/transport/registry/registry-address';
import type { RepositoryClient } from '#bundles/transport/registry/repository-client';
import { parseTokenAnswer } from '#bundles/transport/registry/http/token-request';
import { mutateJson } from '../mutate-json.ts';
import { mutateText } from '../mutate-text.ts';
import { insist, type Target } from '../target.ts';

const text = (...texts: readonly string[]): readonly Buffer[] => texts.map((it) => Buffer.from(it));
const json = (...values: readonly unknown[]): readonly Buffer[] =>
  text(...values.map((it) => JSON.stringify(it)));

/** A repository that answers every question with these bytes and names a next page for ever. */
const answering = (input: Buffer): RepositoryClient => {
  const answer = () => ({
    status: 200,
    url: new URL('https://registry.example/v2/a/x'),
    header: (name: string) => (name === 'link' ? '</v2/a/x?last=b>; rel="next"' : undefined),
    body: Object.assign(onePiece(input), { dump: async () => undefined }),
  });
  const client = { ask: async (_: unknown, read: (it: unknown) => unknown) => read(answer()) };
  return { client: client as never, path: 'a', name: 'registry.example/a', manifests: new Set() };
};

async function* onePiece(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes;
}

const DESCRIPTOR = {
  mediaType: 'application/vnd.oci.image.manifest.v1+json',
  digest: digestOf('a'),
  size: 7,
  artifactType: 'application/vnd.dev.sigstore.bundle.v0.3+json',
};

export const REGISTRY: readonly Target[] = [
  {
    name: 'challenge',
    corpus: text(
      'Bearer realm="https://tokens.example/token",service="registry",scope="repository:a:pull"',
      'Basic realm="a, b \\"c\\""',
      'Negotiate, Basic realm=x, Bearer realm="y",error="invalid_token"',
    ),
    mutate: mutateText,
    run: (input) => parseChallenges(input.toString('latin1')),
  },
  {
    name: 'link',
    corpus: text(
      '</v2/a/tags/list?n=2&last=b>; rel="next"',
      '<https://r.example/x?a=1,2;3>; rel=next',
      '</first>; rel="first", </more>; title="a, \\"b\\""; rel="up next"',
    ),
    mutate: mutateText,
    run: (input) => nextPageOf(input.toString('latin1')),
  },
  {
    name: 'token',
    corpus: json(
      { token: 'abc', expires_in: 300 },
      { access_token: 'abc', issued_at: '2026-11-21T08:00:00Z' },
    ),
    mutate: mutateJson,
    run: (input) => {
      const { token, seconds } = parseTokenAnswer(input, 'tokens.example');
      insist(/^[\x21-\x7e]+$/.test(token) && seconds > 0, 'a token that may not stand in a header');
    },
  },
  {
    name: 'listing',
    corpus: json(
      { schemaVersion: 2, manifests: [DESCRIPTOR, { ...DESCRIPTOR, digest: digestOf('b') }] },
      { name: 'a', tags: ['v1', 'release', 'sha256-aa'] },
      { manifests: null, tags: null },
    ),
    mutate: mutateJson,
    run: async (input) => {
      for (const list of [listReferrers(answering(input), digestOf('a')), listTags(answering(input))]) {
        await list.catch((error: unknown) => {
          if (!isFleetError(error)) throw error;
        });
      }
    },
  },
  {
    name: 'docker-config',
    corpus: json(
      {
        auths: { 'r.example/a': { auth: 'dTpw' }, x: { identitytoken: 't' } },
        credHelpers: { y: 'z' },
        credsStore: 's',
      },
      { auths: { r: { username: 'u', password: 'p' } } },
    ),
    mutate: mutateJson,
    run: (input) => parseDockerConfig(input, 'auth.json'),
  },
  {
    name: 'address',
    corpus: text('oci://registry.example:5000/factory/fleet', 'oci://[::1]:5000/a-b/c_d', 'oci://10.1.2.3/a'),
    mutate: mutateText,
    run: (input) => {
      const { host, prefix } = parseRegistryAddress(input.toString());
      insist(!/[@\s?#]/.test(host + prefix), `the address ${host}/${prefix}`);
    },
  },
];
