import { expect, it } from 'vitest';
import { digestOf } from '#bundles/digest';
import { OCI_MANIFEST } from '#bundles/media-types';
import { attachReferrer, fallbackTag } from '../../../../bundles/transport/registry/attach-referrer.ts';
import { memoryRegistry } from '../publish/memory-destination.ts';

const SUBJECT = digestOf('a bundle');
const referrer = (text: string) => ({ mediaType: OCI_MANIFEST, digest: digestOf(text), size: text.length });
const { signal } = new AbortController();

it('attachReferrer to a registry without the referrers API lists each signature once under the fallback tag', async () => {
  const registry = memoryRegistry();
  const target = registry.repository('prod/kiosk');
  for (const text of ['first', 'second', 'first'])
    await attachReferrer(target, SUBJECT, referrer(text), signal);
  const listed = await target.referrers(SUBJECT);
  expect(listed.map(({ digest }) => digest).toSorted()).toEqual(
    ['first', 'second'].map((text) => digestOf(text)).toSorted(),
  );
  const writes = registry.requests.filter((request) => request.startsWith('PUT'));
  expect(writes).toEqual(Array.from({ length: 2 }, () => `PUT prod/kiosk:${fallbackTag(SUBJECT)}`));
});

it('attachReferrer to a registry with the referrers API writes no fallback tag', async () => {
  const registry = memoryRegistry();
  const target = { ...registry.repository('prod/kiosk'), referrers: async () => [referrer('first')] };
  await attachReferrer(target, SUBJECT, referrer('first'), signal);
  expect(registry.requests).toEqual([]);
});

it('attachReferrer loses no referrer when two publishers write the fallback tag at the same moment', async () => {
  const registry = memoryRegistry();
  const texts = ['first', 'second', 'third'];
  await Promise.all(
    texts.map((text) => attachReferrer(registry.repository('prod/kiosk'), SUBJECT, referrer(text), signal)),
  );
  const listed = await registry.repository('prod/kiosk').referrers(SUBJECT);
  expect(listed.map(({ digest }) => digest).toSorted()).toEqual(
    texts.map((text) => digestOf(text)).toSorted(),
  );
});

it('attachReferrer waits for a registry that answers with its old list after a write', async () => {
  const registry = memoryRegistry();
  const target = registry.repository('prod/kiosk');
  let old = 2;
  const late: typeof target = {
    ...target,
    fetchManifest: async (tag, of) => {
      old -= 1;
      return old >= 0 ? undefined : await target.fetchManifest(tag, of);
    },
  };
  await attachReferrer(late, SUBJECT, referrer('first'), signal);
  expect((await target.referrers(SUBJECT)).map(({ digest }) => digest)).toEqual([digestOf('first')]);
  expect(registry.requests.filter((request) => request.startsWith('PUT'))).toHaveLength(1);
});
