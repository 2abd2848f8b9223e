import { expect, test } from 'vitest';
import { parseHostPackage } from '#bundles/formats/bundle/host-package';
import { assembleHost } from '../../../../../scheduler/assemble/bundle/host/assemble-host.ts';
import { CONTROL, makeDeb } from '../../content/make-deb.ts';
import { noAccess } from '../../content/no-access.ts';
import { clusterType, renderedFiles, renderedPackage, target } from '../../../model-objects.ts';

type Hosts = { readonly platforms?: readonly string[]; readonly debs?: readonly string[] };

/** @param debs architectures of hello's packages */
const install = async (text: string, { platforms = [], debs = ['amd64'] }: Hosts = {}) => {
  const sources = debs.map((architecture) => `{source: hello_${architecture}.deb}`);
  const spec = `  debs: [${sources.join(', ')}]
  files: [{path: /opt/dump, content: "#!/bin/sh", mode: "0755"}]
  install:
${text}`;
  const made = await assembleHost(
    renderedPackage(
      clusterType('press', { target: 'host', configType: 'env-file', offline: true, platforms }),
      target('scale/host', { at: { file: 'workload.yaml', line: 7, column: 7 } }),
      { files: renderedFiles({}) },
    ),
    {
      shown: 'apps/scale/',
      files: new Map([
        [
          'package.yaml',
          Buffer.from(
            `apiVersion: fleet-ferry/v1alpha1\nkind: HostPackage\nmetadata: {name: scale}\nspec:\n${spec}`,
          ),
        ],
        ...debs.map((architecture): [string, Buffer] => [
          `hello_${architecture}.deb`,
          makeDeb(CONTROL.replace('amd64', architecture)),
        ]),
      ]),
    },
    noAccess({}),
  );
  return parseHostPackage(made.files.find(({ path }) => path === 'package.json')?.bytes as Buffer).install;
};

test('the install section lists every Debian package of the repository with its version, policies and hooks', async () => {
  expect(
    await install(`    packages: [{name: hello, hold: true}]
    atLeast: true
    hooks: [{package: hello, before: /opt/dump, restore: /opt/dump}]
`),
  ).toEqual({
    repository: '/var/lib/fleet-ferry/apt/scale-host',
    packages: [{ name: 'hello', version: '2.10-3', hold: true, atLeast: true }],
    conffiles: 'keep',
    onRemoval: 'remove',
    services: 'start',
    hooks: [{ package: 'hello', before: '/opt/dump', restore: '/opt/dump', timeoutSeconds: 600 }],
  });
});

test.each([
  ['    packages: [{name: other}]\n', 'other is not one of the debs of scale-host', 'Bring it along in debs'],
  [
    '    hooks: [{package: other, after: /opt/dump}]\n',
    'a hook waits for other, which is not in debs',
    'Name a Debian package of debs',
  ],
  [
    '    hooks: [{package: hello, after: /opt/migrate}]\n',
    'a hook of hello runs /opt/migrate, which is not in files',
    'Bring the program along under files',
  ],
])('%s is refused with its position', async (text, message, hint) => {
  await expect(install(text)).rejects.toMatchObject({
    code: 'REFERENCE_MISSING',
    message,
    hint,
    at: { file: 'apps/scale/package.yaml' },
  });
});

const HELLO = '    packages: [{name: hello}]\n';

test.each([
  [['linux/amd64'], ['amd64']],
  [['linux/arm64/v8'], ['arm64']],
  [['linux/amd64/v2'], ['amd64']],
  [['linux/mipsle'], ['mipsel']],
  // Raspberry Pi OS, and Debian.
  [['linux/arm/v6'], ['armhf']],
  [['linux/arm/v6'], ['armel']],
  [
    ['linux/amd64', 'linux/arm64'],
    ['arm64', 'amd64'],
  ],
  [
    ['linux/arm/v7', 'linux/386'],
    ['armhf', 'i386'],
  ],
  [['linux/amd64', 'linux/arm64'], ['all']],
  [[], ['arm64']],
])('hosts of %j install Debian packages for %j', async (platforms, debs) => {
  expect(await install(HELLO, { platforms, debs })).toMatchObject({
    packages: [{ name: 'hello', version: '2.10-3' }],
  });
});

test.each([
  [['linux/arm64'], ['amd64'], 'amd64, and not for linux/arm64', 'arm64'],
  [['linux/amd64'], ['arm64', 'armhf'], 'arm64 and armhf, and not for linux/amd64', 'amd64'],
  [['linux/amd64', 'linux/arm/v7'], ['amd64', 'arm64'], 'amd64 and arm64, and not for linux/arm/v7', 'armhf'],
  [['linux/arm/v6'], ['arm64'], 'arm64, and not for linux/arm/v6', 'armhf or armel'],
])('hosts of %j are refused Debian packages for %j', async (platforms, debs, said, wanted) => {
  await expect(install(HELLO, { platforms, debs })).rejects.toMatchObject({
    code: 'REFERENCE_MISSING',
    message: `scale-host has hello for ${said}, a platform of its hosts`,
    hint: `Bring hello for ${wanted} along in debs too, or take the platform out of the cluster type`,
    at: { file: 'apps/scale/package.yaml' },
  });
});

test('a hook without a program is refused', async () => {
  await expect(install('    hooks: [{package: hello}]\n')).rejects.toMatchObject({ code: 'FIELD_INVALID' });
});

test.each([0, 86_401])('a hook with a limit of %d seconds is refused', async (limit) => {
  await expect(
    install(`    hooks: [{package: hello, after: /opt/dump, timeoutSeconds: ${limit}}]\n`),
  ).rejects.toMatchObject({
    code: 'FIELD_INVALID',
    message: `spec.install.hooks[0].timeoutSeconds must be from 1 to 86400, not ${limit}`,
  });
});
