import { describe, expect, test } from 'vitest';
import { newSigstore, type RootParts } from '../../../harness/sigstore/sigstore.ts';
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

  const byCertificate = (
    trustedRoot: string,
    { issuer = 'https://issuer.example', identity = 'https://git.example/team/*@refs/tags/**' } = {},
  ): string =>
    ours(
      'ImagePolicy',
      'signed',
      `spec:\n  match: ["**"]\n  certificates:\n    trustedRoot: |\n      ${trustedRoot}\n    signers: [{issuer: "${issuer}", identity: "${identity}"}]\n`,
    );

  test('name signers by certificate with the trusted root, in one spelling of its JSON', async () => {
    const text = (await newSigstore()).trustedRoot();
    const loaded = async (written: string) =>
      (await loadFleetWith({ 'platform/base/images.yaml': byCertificate(written) })).imagePolicies;
    const [policyOfTeam] = (await loaded(text)) ?? [];
    expect(policyOfTeam).toMatchObject({
      keys: [],
      certificates: {
        signers: [{ issuer: 'https://issuer.example', identity: 'https://git.example/team/*@refs/tags/**' }],
      },
    });
    expect(JSON.parse(policyOfTeam?.certificates?.trustedRoot ?? '')).toEqual(JSON.parse(text));
    const spread = JSON.stringify(JSON.parse(text), null, 2).replaceAll('\n', '\n      ');
    expect(await loaded(spread)).toEqual([policyOfTeam]);
  });

  test('are refused when nobody may sign', async () => {
    const files = { 'platform/base/images.yaml': ours('ImagePolicy', 'all', 'spec:\n  match: ["**"]\n') };
    await expect(loadFleetWith(files)).rejects.toThrow(
      'names nobody who may sign. List keys, or certificates with trustedRoot and signers',
    );
  });

  const unreadable = { publicKey: { rawBytes: 'AAAA' }, logId: { keyId: 'AAAA' }, baseUrl: 'https://log' };
  test.for<readonly [title: string, parts: Partial<RootParts> | string, said: string]>([
    ['text', 'no JSON', 'this trusted root of sigstore is not JSON'],
    ['another document', '{"mediaType": "application/json"}', 'has no mediaType of a trusted root'],
    ['no authority', { certificateAuthorities: [] }, 'has no certificateAuthorities'],
    ['nothing with a time', { timestampAuthorities: [], tlogs: [] }, 'has neither timestampAuthorities nor'],
    [
      'a broken certificate',
      {
        certificateAuthorities: [{ uri: 'https://ca', certChain: { certificates: [{ rawBytes: 'AAAA' }] } }],
      },
      'has a certChain of https://ca that cannot be read',
    ],
    ['a broken key', { tlogs: [unreadable] }, 'has a publicKey or logId of https://log that cannot be read'],
    ['a part that is no list', { tlogs: 7 as never }, 'has no list of tlogs'],
    ['a misspelled part', { tlog: [] } as never, 'has the field "tlog", which this version does not know'],
    ['a part of a wrong type', { tlogs: [7 as never] }, 'has a publicKey or logId of a log that cannot be'],
  ])('are refused with a trusted root that cannot be used: %s', async ([, parts, said]) => {
    const root = typeof parts === 'string' ? parts : (await newSigstore()).trustedRoot(parts);
    const load = loadFleetWith({ 'platform/base/images.yaml': byCertificate(root) });
    await expect(load).rejects.toThrow(said);
    await expect(load).rejects.toThrow(/platform\/base\/images\.yaml:\d+:\d+: FIELD_INVALID/);
  });

  test.for([
    [{ issuer: 'issuer.example' }, 'is not the address of an issuer'],
    [{ issuer: 'https://*.example' }, 'is not the address of an issuer'],
    [{ identity: '**' }, 'is not an identity'],
    [{ identity: 'https://**' }, 'is not an identity'],
    [{ identity: 'a b' }, 'is not an identity'],
  ] as const)('are refused with a signer that is nobody or everybody: %o', async ([signer, said]) => {
    const root = (await newSigstore()).trustedRoot();
    await expect(loadFleetWith({ 'platform/base/images.yaml': byCertificate(root, signer) })).rejects.toThrow(
      said,
    );
  });
});
