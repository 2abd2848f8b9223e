import { expect, it } from 'vitest';
import type { ClosureEntry } from '#bundles/formats/bundle/config';
import { digestOf } from '#bundles/digest';
import { OCI_MANIFEST } from '#bundles/media-types';
import { mergeImage } from '../../../../scheduler/assemble/images/merge-image.ts';
import type { BundleAbout } from '../../../../scheduler/assemble/bundle/bundle-config.ts';
import { packBundle } from '../../../../scheduler/assemble/bundle/pack-bundle.ts';
import type { ResolvedImage } from '../../../../scheduler/assemble/images/resolved-image.ts';
import { sourceOf } from '../../../agent/images/image-fixture.ts';
import { policyOf } from '../../../bundles/trust/images/sign-image.ts';
import { newKey } from '../../../bundles/trust/root/new-key.ts';
import { clusterType } from '../../model-objects.ts';

const TYPE = clusterType('edge');
const digest = digestOf('an image');
const entry = (...repositories: readonly string[]): ClosureEntry => ({
  digest,
  size: 8,
  mediaType: OCI_MANIFEST,
  names: repositories.map((name) => `${name}@${digest}`),
});
const pack = (policies: BundleAbout['policies']) =>
  packBundle(
    {
      fleet: 'halden',
      environment: 'prod',
      clusterType: TYPE,
      closure: [entry('registry.example/team/app')],
      policies,
    },
    [],
  );

it('a bundle carries the policies that match its images as critical, so that agents without support refuse it', async () => {
  const policy = policyOf(newKey());
  const other = policyOf(newKey(), { name: 'other', match: ['other.example/**'] });
  const { config } = await pack([other, policy]);
  expect(config.imagePolicy).toEqual([policy]);
  expect(config.critical).toEqual(['imagePolicy']);
});

it('a policy by certificate is critical by a name of its own, because older agents know keys only', async () => {
  const signers = [{ issuer: 'https://issuer.example', identity: 'https://git.example/team/**' }];
  const policy = { ...policyOf(newKey()), keys: [], certificates: { trustedRoot: '{}', signers } };
  const { config } = await pack([policy]);
  expect(config.imagePolicy).toEqual([policy]);
  expect(config.critical).toEqual(['imagePolicy', 'imageCertificates']);
});

it('a policy for other images does not change the bundle digest', async () => {
  const other = policyOf(newKey(), { match: ['other.example/**'] });
  expect((await pack([other])).digest).toBe((await pack(undefined)).digest);
  expect((await pack([other])).config.critical).toEqual([]);
});

it('an image under two names in two packages is one closure entry with both names and all attachments', () => {
  const images = new Map<string, ResolvedImage>();
  const [one, other] = [digestOf('one'), digestOf('other')];
  const image = (name: string, attachment: typeof digest): ResolvedImage => ({
    entry: { ...entry(name), attachments: [attachment] },
    blobs: [],
    source: sourceOf(new Map()),
  });
  mergeImage(images, image('b.example/app', one));
  mergeImage(images, image('a.example/app', other));
  expect([...images.values()].map((it) => [it.entry.names, it.entry.attachments])).toEqual([
    [[`a.example/app@${digest}`, `b.example/app@${digest}`], [one, other].toSorted()],
  ]);
});
