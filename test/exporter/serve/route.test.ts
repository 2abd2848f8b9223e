import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { routeOf } from '../../../exporter/serve/route.ts';
import { anyCharacter } from '../../harness/fleets/any-character.ts';

const DIGEST = `sha256:${'ab'.repeat(32)}` as const;
const of = (path: string) => routeOf(new URL(`http://registry${path}`));

test('route finds repositories that are named like parts of the API', () => {
  expect(of(`/v2/a/manifests/blobs/manifests/${DIGEST}`)).toEqual({
    kind: 'manifest',
    repository: 'a/manifests/blobs',
    reference: DIGEST,
  });
  expect(of('/v2/tags/list/tags/list')).toEqual({ kind: 'tags', repository: 'tags/list' });
  expect(of(`/v2/a/blobs/${encodeURIComponent(DIGEST)}?ns=x`)).toEqual({
    kind: 'blob',
    repository: 'a',
    digest: DIGEST,
  });
  expect(of(`/v2/a/referrers/${DIGEST}`)).toEqual({ kind: 'referrers', repository: 'a', digest: DIGEST });
});

/** What the API's paths are made of, and what somebody may write between the slashes. */
const segment = fc.oneof(
  fc.constantFrom('v2', 'manifests', 'blobs', 'tags', 'list', 'referrers', 'uploads', '..', '', DIGEST),
  fc.string({ unit: anyCharacter }).map((text) => encodeURIComponent(text.toWellFormed())),
  fc.string({ unit: 'grapheme-ascii' }).map((text) => text.replaceAll(/[?#\\]/g, '%')),
);
const odd = fc.array(segment).map((segments) => segments.map((one) => `/${one}`).join(''));

test('route answers any path', () => {
  fc.assert(
    fc.property(odd, (path) => {
      expect(typeof of(path).kind).toBe('string');
      expect(typeof of(`/v2${path}`).kind).toBe('string');
    }),
  );
});
