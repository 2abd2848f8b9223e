import { expect, test } from 'vitest';
import { digestOf } from '#bundles/digest';
import { parseHostPackage } from '#bundles/formats/bundle/host-package';
import { assembleHost } from '../../../../scheduler/assemble/bundle/host/assemble-host.ts';
import { memoryContent } from '../../../../scheduler/assemble/content/memory-content.ts';
import { clusterType, renderedPackage, target } from '../../model-objects.ts';
import { noAccess } from '../content/no-access.ts';

const IMAGE = Buffer.from('a RAUC bundle');
const URL = 'https://images.example/press-2.raucb';
const object = (spec: string) =>
  `apiVersion: fleet-ferry/v1alpha1\nkind: HostPackage\nmetadata: {name: system}\nspec: ${spec}\n`;

const assemble = (...specs: readonly string[]) =>
  assembleHost(
    renderedPackage(clusterType('press', { target: 'host' }), target('system/host')),
    {
      shown: 'apps/system/',
      files: new Map([
        ['package.yaml', Buffer.from(specs.map(object).join('---\n'))],
        ['images/press-2.raucb', IMAGE],
      ]),
    },
    noAccess({ get: async ({ url }) => memoryContent(IMAGE, url) }),
  );
const read = ({ files }: Awaited<ReturnType<typeof assemble>>) =>
  parseHostPackage(files.find(({ path }) => path === 'package.json')?.bytes as Buffer);

test.each([
  ['an address', `{url: "${URL}"`],
  ['a file of the application', '{source: images/press-2.raucb'],
])('a RAUC bundle by %s travels as a blob of the closure and is no file of the host', async (_what, from) => {
  const made = await assemble(`{rauc: ${from}, version: "2"}}`);
  const spec = read(made);
  expect(spec.rauc).toEqual({ version: '2', digest: digestOf(IMAGE), size: IMAGE.byteLength });
  expect(spec.files).toEqual([]);
  expect(spec.critical).toEqual(['blobs', 'rauc']);
  expect(made.contents?.map(({ digest }) => digest)).toEqual([digestOf(IMAGE)]);
  expect(made.owns).toEqual(['the system of the host']);
});

test.each([
  ['{rauc: {version: "2"}}', 'exactly one of url and source says where the bytes come from'],
  [`{rauc: {url: "${URL}"}}`, 'version'],
  [`{rauc: {url: "${URL}", version: "2 beta"}}`, 'is not a version of a RAUC bundle'],
  ['{rauc: {source: images/press-3.raucb, version: "3"}}', 'there is no file images/press-3.raucb'],
])('%s is refused: %s', async (spec, sentence) => {
  await expect(assemble(spec)).rejects.toThrow(sentence);
});

test('two RAUC bundles in one package are refused', async () => {
  const spec = '{rauc: {source: images/press-2.raucb, version: "2"}}';
  await expect(assemble(spec, spec)).rejects.toThrow(expect.objectContaining({ code: 'OBJECT_CLASH' }));
});
