import { expect, test } from 'vitest';
import { parseHostPackage } from '#bundles/formats/bundle/host-package';
import { assembleHost } from '../../../../scheduler/assemble/bundle/host/assemble-host.ts';
import { clusterType, renderedPackage, target } from '../../model-objects.ts';
import { noAccess } from '../content/no-access.ts';

const assemble = async (checks: string) => {
  const text = `apiVersion: fleet-ferry/v1alpha1\nkind: HostPackage\nmetadata: {name: clock}\nspec:\n  checks: [${checks}]\n`;
  const { files } = await assembleHost(
    renderedPackage(clusterType('press', { target: 'host' }), target('clock/host')),
    { shown: 'apps/clock/', files: new Map([['package.yaml', Buffer.from(text)]]) },
    noAccess({}),
  );
  return parseHostPackage(files.find(({ path }) => path === 'package.json')?.bytes as Buffer);
};

const HTTP = '{name: web, type: http, url: "http://127.0.0.1/"}';

test('tcp and file checks are packed as probes, a critical field that older agents refuse', async () => {
  const spec = await assemble(
    `{name: v6, type: tcp, address: "[::1]:80"}, ${HTTP}, {name: fresh, type: file, path: /run/beat, maxAgeSeconds: 9}`,
  );
  expect(spec.checks.map(({ name }) => name)).toEqual(['web']);
  expect(spec.probes).toEqual([
    { type: 'tcp', name: 'v6', host: '::1', port: 80, timeoutSeconds: 10 },
    { type: 'file', name: 'fresh', path: '/run/beat', maxAgeSeconds: 9, timeoutSeconds: 10 },
  ]);
  expect(spec.critical).toEqual(['probes']);
});

test('a package without probes has no critical field', async () => {
  const spec = await assemble(HTTP);
  expect([spec.probes, spec.critical]).toEqual([undefined, []]);
});

test.each([
  ['{name: x, type: tcp}', 'check x of type tcp needs address'],
  ['{name: x, type: file}', 'check x of type file needs path'],
  ['{name: x, type: tcp, address: broker}', 'not an address with a port'],
  ['{name: x, type: tcp, address: "broker:70000"}', 'no agent would take this package'],
])('%s is refused: %s', async (check, sentence) => {
  await expect(assemble(check)).rejects.toThrow(sentence);
});

test('a check of a kind that a later version brings is refused by the name in critical, which says to upgrade', async () => {
  const spec = await assemble('{name: fresh, type: file, path: /run/beat}');
  const later = { type: 'socket', name: 'listens', path: '/run/broker.sock', timeoutSeconds: 10 };
  const read = (critical: readonly string[]) =>
    parseHostPackage(Buffer.from(JSON.stringify({ ...spec, probes: [later], critical })));
  expect(() => read(['probes', 'socket-probes'])).toThrow(
    expect.objectContaining({ code: 'UNSUPPORTED', hint: 'Update this program first' }),
  );
  expect(() => read(['probes'])).toThrow(expect.objectContaining({ code: 'SCHEMA' }));
});
