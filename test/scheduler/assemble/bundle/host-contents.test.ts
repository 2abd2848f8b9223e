import { describe, expect, test } from 'vitest';
import { parseHostPackage } from '#bundles/formats/bundle/host-package';
import { digestOf, hexOf } from '#bundles/digest';
import { type FleetError, formatError } from '#bundles/errors';
import { assembleHost } from '../../../../scheduler/assemble/bundle/host/assemble-host.ts';
import type { WantedContent } from '../../../../scheduler/assemble/content/content.ts';
import { memoryContent } from '../../../../scheduler/assemble/content/memory-content.ts';
import { makeDeb } from '../content/make-deb.ts';
import { noAccess } from '../content/no-access.ts';
import { clusterType, renderedFiles, renderedPackage, target } from '../../model-objects.ts';

const HEAD = 'apiVersion: fleet-ferry/v1alpha1\nkind: HostPackage\nmetadata: {name: scale}\nspec:\n';
const MODEL = Buffer.from('weights');

const assemble = async (spec: string, files: Readonly<Record<string, Buffer>> = {}, template?: string) =>
  await assembleHost(
    renderedPackage(
      clusterType('press', { target: 'host', configType: 'env-file', offline: true }),
      target('scale/host', { at: { file: 'workload.yaml', line: 7, column: 7 } }),
      { files: renderedFiles(template === undefined ? {} : { 'namespace.yaml': HEAD + template }) },
    ),
    {
      shown: 'apps/scale/',
      files: new Map(Object.entries({ 'package.yaml': Buffer.from(HEAD + spec), ...files })),
    },
    noAccess({
      get: async ({ url }: WantedContent) => ({ ...memoryContent(MODEL, url), from: { url } }),
      chart: async ({ chart }) => memoryContent(Buffer.from(chart), chart),
    }),
  );

const specOf = ({ files }: Awaited<ReturnType<typeof assemble>>) =>
  parseHostPackage(files.find(({ path }) => path === 'package.json')?.bytes as Buffer);
const textAt = (made: Awaited<ReturnType<typeof assemble>>, path: string): string =>
  made.files.find((file) => file.path === `files${path}`)?.bytes.toString() ?? '';

describe('a file with a url', () => {
  test('is a blob of the closure, in no layer, and marks the package as critical for agents without blobs', async () => {
    const made = await assemble(
      '  files: [{path: /opt/model, url: https://models.example/m, mode: "0600"}]\n',
    );
    expect(specOf(made)).toMatchObject({
      files: [{ path: '/opt/model', mode: '0600', digest: digestOf(MODEL), size: 7, blob: true }],
      critical: ['blobs'],
    });
    expect(made.files.map(({ path }) => path)).toEqual(['package.json']);
    expect(made.contents).toMatchObject([
      { digest: digestOf(MODEL), from: { url: 'https://models.example/m' } },
    ]);
    expect(made.owns).toEqual(['/opt/model']);
  });
});

test('a source over 1 MiB is a blob of its own, unless site values are written into it', async () => {
  const big = { 'big.json': Buffer.from(`"${'x'.repeat(1 << 20)}"`) };
  const file = '  files: [{path: /opt/big.json, source: big.json';
  expect(specOf(await assemble(`${file}}]\n`, big)).files).toMatchObject([{ blob: true }]);
  const kept = await assemble(`${file}, format: json}]\n`, big);
  expect(specOf(kept)).toMatchObject({ files: [{ content: 'files/opt/big.json' }], critical: [] });
  expect(kept.contents).toBeUndefined();
});

describe('Debian packages', () => {
  const debs = {
    'debs/a.deb': makeDeb(),
    'debs/b.deb': makeDeb('Package: bb\nVersion: 1\nArchitecture: all\n'),
  };

  test('of platform and application form one repository of the package', async () => {
    const made = await assemble('  debs: [{source: debs/a.deb}]\n', debs, '  debs: [{source: debs/b.deb}]\n');
    const folder = '/var/lib/fleet-ferry/apt/scale-host';
    expect(specOf(made).files).toMatchObject([
      { path: `${folder}/bb_1_all.deb`, blob: true, mode: '0644', owner: 'root' },
      { path: `${folder}/hello_2.10-3_amd64.deb`, blob: true },
      { path: `${folder}/Packages`, content: `files${folder}/Packages` },
      { path: `${folder}/Release`, content: `files${folder}/Release` },
    ]);
    expect(textAt(made, `${folder}/Packages`)).toContain('Filename: ./bb_1_all.deb\n');
    expect(textAt(made, `${folder}/Release`)).toContain('Architectures: all amd64\n');
  });

  test('are placed in the folder that the package configures', async () => {
    const made = await assemble('  folders: {apt: /srv/apt}\n  debs: [{source: debs/a.deb}]\n', debs);
    expect(specOf(made).files[0]?.path).toBe('/srv/apt/hello_2.10-3_amd64.deb');
  });

  test('that are invalid are refused with the position of their declaration', async () => {
    await expect(assemble('  debs:\n  - url: https://deb.example/x\n')).rejects.toMatchObject({
      code: 'CONTENT_INVALID',
      message: 'https://deb.example/x is not a usable Debian package: it is not an ar archive',
      at: { file: 'apps/scale/package.yaml', line: 6, column: 5 },
    });
  });
});

test('roles and charts are files, with the requirements.yml that ansible-galaxy reads', async () => {
  const made = await assemble(
    '  roles: [{name: factory.clock, url: https://roles.example/clock}]\n  charts: [{chart: oci://registry.example/charts/printer, version: 1.4.2}]\n',
  );
  const ansible = '/var/lib/fleet-ferry/ansible/scale-host';
  expect(specOf(made).files.map(({ path }) => path)).toEqual([
    `${ansible}/roles/factory.clock.tar.gz`,
    `${ansible}/requirements.yml`,
    '/var/lib/fleet-ferry/charts/scale-host/printer-1.4.2.tgz',
  ]);
  expect(textAt(made, `${ansible}/requirements.yml`)).toBe(
    `collections: []\nroles:\n  - name: factory.clock\n    src: file://${ansible}/roles/factory.clock.tar.gz\n`,
  );
});

const HEX = hexOf(digestOf('x'));

test.each([
  [
    'files: [{path: /x, url: "https://a.example/x", source: x}]',
    'exactly one of source, content, config and url',
  ],
  ['files: [{path: /x, url: "https://u:p@a.example/x"}]', 'is not an address to fetch from'],
  ['files: [{path: /x, url: "file:///etc/shadow"}]', 'is not an address to fetch from'],
  ['files: [{path: /x, url: "https://a.example/x", format: env}]', '/x has a format'],
  [`files: [{path: /x, content: y, sha256: "${HEX}"}]`, 'the sha256 of /x belongs to a url'],
  ['files: [{path: /x, url: "https://a.example/x", sha256: abc}]', '"abc" is not a SHA-256'],
  ['debs: [{}]', 'exactly one of url and source'],
  [`debs: [{source: x, sha256: "${HEX}"}]`, 'a sha256 belongs to a url'],
  ['debs: [{source: x.deb}]', 'there is no file x.deb in apps/scale/'],
  ['roles: [{name: ../x, source: x}]', '"../x" is not a name of a role'],
  ['charts: [{chart: oci://a.example/x}]', 'a chart has chart and version, or url, or source'],
  ['charts: [{url: "https://a.example/x.html"}]', '"x.html" is not a file name of a chart'],
  ['charts: [{url: "https://a.example/..%2fx.tgz"}]', 'is not a file name of a chart'],
  ['folders: {apt: ../x}', '"../x" is not an absolute path on a host'],
  [
    'roles: [{name: a, url: "https://a.example/1"}, {name: a, url: "https://a.example/2"}]',
    'roles/a.tar.gz is there twice in this package',
  ],
])('%s is refused with its position', async (spec, why) => {
  const error = await assemble(`  ${spec}\n`).catch((caught: unknown) => caught);
  expect(formatError(error as FleetError)).toMatch(/^apps\/scale\/package\.yaml:5:/);
  expect((error as FleetError).message).toContain(why);
});
