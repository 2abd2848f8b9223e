import { describe, expect, test } from 'vitest';
import { newKey } from '../../../bundles/trust/root/new-key.ts';
import { ours } from '../../fleet-platform.ts';
import { loadFleetWith, loadKalypsoWith } from './load-written.ts';

const PEM = newKey().public.pem;
const OTHER = newKey().public.pem;
const policy = (name: string, match: string, pem = PEM): string =>
  ours(
    'ImagePolicy',
    name,
    `spec:\n  match: ${match}\n  keys:\n    - |\n      ${pem.trimEnd().replaceAll('\n', '\n      ')}\n`,
  );

describe('image policies of a platform', () => {
  test('are read from base/, and an environment may add or replace them', async () => {
    const files = {
      'platform/base/images.yaml': `${policy('all', '["**"]')}---\n${policy('team', '[edge.example/team/**]')}`,
      'platform/environments/prod/images.yaml': policy('all', '["**"]', OTHER),
    };
    const keysOf = async (environment: string) =>
      (await loadFleetWith(files, environment)).imagePolicies?.map(({ name, keys }) => [name, ...keys]);
    expect(await keysOf('qa')).toEqual([
      ['all', PEM],
      ['team', PEM],
    ]);
    expect(await keysOf('prod')).toEqual([
      ['all', OTHER],
      ['team', PEM],
    ]);
  });

  test('are absent without an ImagePolicy object, together with the indexes of the lock file', async () => {
    const platform = await loadFleetWith({});
    expect('imagePolicies' in platform).toBe(false);
    expect('imageIndexes' in platform).toBe(false);
  });

  test('are returned with the indexes of the lock file', async () => {
    const [manifest, index] = ['a', 'b'].map((digit) => `sha256:${digit.repeat(64)}`);
    const platform = await loadFleetWith({
      'platform/base/images.yaml': policy('all', '["**"]'),
      'platform/images.lock.yaml': ours(
        'ImagesLock',
        'images',
        `spec:\n  images: {"edge.example/a:1": "edge.example/a@${manifest}"}\n  indexes: {"${manifest}": "${index}"}\n`,
      ),
    });
    expect([...(platform.imageIndexes ?? [])]).toEqual([[manifest, index]]);
  });

  test('may be in a Kalypso control plane', async () => {
    const platform = await loadKalypsoWith({ 'images.yaml': policy('all', '["**"]') });
    expect(platform.imagePolicies?.map(({ name }) => name)).toEqual(['all']);
  });

  test.for([
    [
      'a name that is not written in full',
      '[nginx]',
      "does not begin with a registry's host. Write it in full, like docker.io/library/nginx",
    ],
    ['a digest in a pattern', '["edge.example/a@sha256:0"]', 'is not a pattern of image names'],
    ['a tag in a pattern', '["edge.example/a:1"]', 'is not a pattern of image names'],
    ['upper case in a pattern', '[edge.example/A]', 'is not a pattern of image names'],
    ['no pattern', '[]', 'is empty'],
  ] as const)('are refused with the position of the mistake: %s', async ([, match, said]) => {
    await expect(loadFleetWith({ 'platform/base/images.yaml': policy('all', match) })).rejects.toThrow(said);
    await expect(loadFleetWith({ 'platform/base/images.yaml': policy('all', match) })).rejects.toThrow(
      /platform\/base\/images\.yaml:\d+:\d+: FIELD_INVALID/,
    );
  });

  test('are refused with text that is not a public key', async () => {
    const files = { 'platform/base/images.yaml': policy('all', '["**"]', 'not a key') };
    await expect(loadFleetWith(files)).rejects.toThrow('this is not a public key in PEM. Paste cosign.pub');
  });
});
