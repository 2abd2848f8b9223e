import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { imagePolicies } from '../../../agent/config/image-policies.ts';
import { parseConfig } from '../../../agent/config/read-config.ts';
import { newSigstore } from '../../harness/sigstore/sigstore.ts';
import { newKey } from '../../bundles/trust/root/new-key.ts';
import { verdict } from '../../bundles/verdict.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';

const parse = (pattern: string, key = '/etc/fleet-agent/team.pub') =>
  parseConfig('agent.yaml', `imagePolicy:\n  - match: ["${pattern}"]\n    keys: [${key}]\n`);

it('imagePolicies reads the signing rule of a machine with its key files, and refuses a file without a key', async () => {
  await using folder = await temporaryDirectory('policy');
  const file = join(folder.path, 'team.pub');
  const key = newKey();
  await writeFile(file, key.public.pem);
  const { imagePolicy = [] } = parse('edge.example/team/**', file);
  expect(imagePolicies({ imagePolicy })).toEqual([
    { name: '1 of this machine', match: ['edge.example/team/**'], except: [], keys: [key.public.pem] },
  ]);
  await writeFile(file, 'no key any more');
  expect(await verdict(() => imagePolicies({ imagePolicy }))).toBe('CONFIG_INVALID');
});

it('imagePolicies refuses a key file that does not exist', async () => {
  const imagePolicy = [{ match: ['**'], keys: ['/nowhere/team.pub'] }];
  expect(() => imagePolicies({ imagePolicy })).toThrow('a key of imagePolicy cannot be used');
});

it('imagePolicies reads signers by certificate with the trusted root from its file, and refuses another file', async () => {
  await using folder = await temporaryDirectory('policy');
  const trustedRoot = join(folder.path, 'trusted-root.json');
  const text = (await newSigstore()).trustedRoot();
  await writeFile(trustedRoot, text);
  const signers = [{ issuer: 'https://issuer.example', identity: 'release@acme.example' }];
  const { imagePolicy = [] } = parseConfig(
    'agent.yaml',
    `imagePolicy:\n  - match: ["**"]\n    certificates: ${JSON.stringify({ trustedRoot, signers })}\n`,
  );
  const [read] = imagePolicies({ imagePolicy });
  expect(read).toMatchObject({ keys: [], certificates: { signers } });
  expect(JSON.parse(read?.certificates?.trustedRoot ?? '')).toEqual(JSON.parse(text));
  await writeFile(trustedRoot, '{}');
  expect(() => imagePolicies({ imagePolicy })).toThrow(
    'the trusted root of imagePolicy cannot be used: this trusted root of sigstore has no mediaType of a trusted root',
  );
});

it('imagePolicies refuses a policy with nobody who may sign', () => {
  expect(() => imagePolicies({ imagePolicy: [{ match: ['**'] }] })).toThrow(
    'imagePolicy 1 names nobody who may sign',
  );
});

it.each([
  ['**', 'ACCEPT'],
  ['edge.example:5000/*', 'ACCEPT'],
  ['localhost/app', 'ACCEPT'],
  ['nginx', 'CONFIG_INVALID'],
  ['library/nginx', 'CONFIG_INVALID'],
  ['edge.example/app@sha256:0', 'CONFIG_INVALID'],
])('an image pattern needs registry and repository: %s -> %s', async (pattern, answer) => {
  expect(await verdict(() => parse(pattern))).toBe(answer);
});
