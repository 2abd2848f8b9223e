import { pino } from 'pino';
import { expect, test } from 'vitest';
import { createLayerComposer } from '../../../../scheduler/hub/serve/compose-layers.ts';
import { setValues } from '../../../../scheduler/hub/sites/set-values.ts';
import { siteSigner } from '../../../../scheduler/hub/sites/site-signer.ts';
import { NOW } from '../../release/removals/office.ts';
import { config, LAYERS, layeredHub, PACKAGE } from '../sites/layers/layered-hub.ts';

test('serve names a site that lacks a value whenever it composes, and once while that stays', async () => {
  const hub = await layeredHub({
    [LAYERS]: config('north', 'siteSelector: {region: north}\n  values: {gatewayHost: n1}'),
    'apps/labels/host/package.yaml': PACKAGE.replace(
      'schema: {type: string}, default: none',
      'schema: {type: string}',
    ),
  });
  const lines: Record<string, unknown>[] = [];
  const log = pino(
    { base: null },
    { write: (line: string) => lines.push(JSON.parse(line) as Record<string, unknown>) },
  );
  const { round } = createLayerComposer({ hub, clock: () => NOW, log });
  const warned = async (): Promise<readonly unknown[]> => {
    lines.length = 0;
    await round({ confirm: async () => {}, signal: new AbortController().signal });
    return lines
      .filter(({ msg }) => msg === 'package waits for values of the site')
      .map(({ site, code, why }) => [site, code, why]);
  };
  await hub.enrol('plant-1/edge', { region: 'north' });
  expect(await warned()).toEqual([]);
  // No release: an agent joins that no layer selects.
  await hub.enrol('plant-2/edge', { region: 'south' });
  const missing = await warned();
  expect(missing).toEqual([['plant-2', 'SITE_VALUES', expect.stringContaining('gatewayHost')]]);
  const change = async (set: { [name: string]: string }, unset: string[]) =>
    setValues(hub.store, { site: 'plant-2', set, unset }, await siteSigner(hub), NOW);
  expect(await warned()).toEqual([]);
  await change({ gatewayHost: 's1' }, []);
  expect(await warned()).toEqual([]);
  await change({}, ['gatewayHost']);
  expect(await warned()).toEqual(missing);
});

test('sites that a round composed during a build are published before its releases, and once', async () => {
  const hub = await layeredHub({
    [LAYERS]: config('north', 'siteSelector: {region: north}\n  values: {gatewayHost: n1}'),
  });
  await hub.enrol('plant-1/edge', { region: 'north' });
  const composer = createLayerComposer({ hub, clock: () => NOW, log: pino({ level: 'silent' }) });
  const term = { confirm: async () => {}, signal: new AbortController().signal };
  await composer.round(term);
  // The round before the releases are published finds nothing left to compose.
  await composer.round(term);
  expect(composer.takeLaidOut()).toEqual(['plant-1']);
  expect(composer.takeLaidOut()).toEqual([]);
});
