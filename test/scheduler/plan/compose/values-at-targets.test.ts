import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { BundleConfig } from '#bundles/formats/bundle/config';
import type { HostFile } from '#bundles/formats/bundle/host-package';
import { parseManifests } from '#bundles/formats/bundle/parse-manifests';
import { resolveInputs } from '#bundles/formats/site-values/resolve-inputs';
import type { SiteValues } from '#bundles/formats/statements/predicates';
import { canonicalJson, type Json } from '#bundles/json/canonical';
import { readManifests } from '../../../../agent/apply/kubernetes/desired/read-wanted.ts';
import { finalBytes } from '../../../../agent/apply/host/desired/final-bytes.ts';
import { placeValues } from '../../../../scheduler/deliver/tree/place-values.ts';
import { createSiteComposer } from '../../../../scheduler/plan/compose/compose-site.ts';
import { runs } from '../../../harness/run/long.ts';
import {
  byTheRules,
  inOrder,
  KEYS,
  labels,
  layer,
  randomLayers,
  taker,
  TYPE,
  values,
} from './random-layers.ts';

type Values = Readonly<Record<string, Json>>;

const DIGEST = `sha256:${'0'.repeat(64)}` as const;
const APP = 'manifests/app.yaml';
const CONFIG = 'platform-config.yaml';
const about = { mode: '0644', owner: 'root', group: 'root', digest: DIGEST, size: 0 };
const JSON_FILE: HostFile = { ...about, path: '/etc/app.json', format: 'json', content: 'app.json' };
const ENV_FILE: HostFile = { ...about, path: '/etc/app.env', format: 'env', content: 'app.env' };

const none = KEYS.map((key) => `  ${key}: none\n`).join('');
const FILES = new Map(
  Object.entries({
    [CONFIG]: 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: platform-config}\ndata: {own: "1"}\n',
    [APP]: `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app}\ndata:\n${none}---\napiVersion: lines.example/v1\nkind: Line\nmetadata: {name: app}\nspec:\n${none}`,
  }).map(([path, text]) => [path, Buffer.from(text)] as const),
);

const takers = [taker('a-line', { app: 'a' }), taker('b-line', {})];
const fieldsTo = (to: (key: string) => readonly object[]) =>
  takers.flatMap(({ target: { name: assignment } }) =>
    KEYS.flatMap((input) => to(input).map((place) => ({ input, assignment, ...place }))),
  );
const configOf = (siteInputs: object): BundleConfig =>
  ({
    assignments: takers.map(({ target: { name } }) => ({ id: name, package: DIGEST, path: name })),
    siteInputs: {
      schema: { type: 'object', properties: Object.fromEntries(KEYS.map((key) => [key, {}])) },
      ...siteInputs,
    },
  }) as unknown as BundleConfig;

const CLUSTER = configOf({
  fields: fieldsTo((key) => [
    { file: APP, pointer: `/0/data/${key}`, as: 'text', restart: true },
    { file: APP, pointer: `/1/spec/${key}` },
  ]),
  configs: takers.map(({ target: { name } }) => ({ assignment: name, file: CONFIG, pointer: '/0/data' })),
});
const HOST = configOf({
  fields: fieldsTo((key) => [
    { file: JSON_FILE.path, pointer: `/${key}` },
    { file: ENV_FILE.path, pointer: `/${key}` },
  ]),
});

const asText = (given: Values): Values =>
  Object.fromEntries(
    Object.entries(given).map(([key, value]) => [
      key,
      typeof value === 'string' ? value : canonicalJson(value, 'doubles'),
    ]),
  );

/** ConfigMap keys, fields of an object, and the completed configuration. */
const inObjects = (objects: readonly unknown[]) => {
  const of = (kind: string, name: string): Record<string, unknown> | undefined =>
    (objects as readonly { kind: string; metadata: { name: string } }[]).find(
      (one) => one.kind === kind && one.metadata.name === name,
    );
  return {
    keys: of('ConfigMap', 'app')?.['data'],
    fields: of('Line', 'app')?.['spec'],
    config: of('ConfigMap', 'platform-config')?.['data'],
  };
};

test('each target gets what the office gives its agent, for random sets of layers', async () => {
  await fc.assert(
    fc.asyncProperty(randomLayers, labels, values, async (random, own, people) => {
      const layers = inOrder(
        random.map((one, index) => layer(`l${index}`, one.siteSelector, one.values, one)),
      );
      const agent = { site: 'plant-7', agent: 'edge-1', labels: own };
      const { document } = createSiteComposer(layers, TYPE, takers)(agent);
      const written: SiteValues = {
        fleet: 'f',
        site: 'plant-7',
        values: people,
        agents: { 'edge-1': { k3: 'own' } },
        ...(document && { composed: { 'edge-1': document } }),
      };
      const tree = new Map(
        takers.flatMap(({ target: { name } }) =>
          [...FILES].map(([path, bytes]) => [`${name}/${path}`, bytes] as const),
        ),
      );
      const folder = await placeValues(tree, CLUSTER, written, 'edge-1');
      expect([...folder.held]).toEqual([]);
      for (const { target } of takers) {
        const office = byTheRules(layers, { labels: own, target }, [people, { k3: 'own' }]) as Values;
        const absent = Object.fromEntries(KEYS.map((key) => [key, 'none']));
        const wanted = {
          keys: { ...absent, ...asText(office) },
          fields: { ...absent, ...office },
          config: { own: '1', ...asText(office) },
        };
        const assignment = target.name;
        const siteInputs = await resolveInputs(CLUSTER, written, 'edge-1', assignment);
        const applied = readManifests({
          assignment,
          package: DIGEST,
          siteValues: DIGEST,
          files: FILES,
          siteInputs,
        });
        expect(inObjects(applied.map(({ fields }) => fields))).toEqual(wanted);
        const files = [...folder.files].flatMap(([path, bytes]) =>
          path.startsWith(`${assignment}/`) ? [[path.slice(assignment.length + 1), bytes] as const] : [],
        );
        expect(inObjects(parseManifests(new Map(files)).map(({ value }) => value))).toEqual(wanted);

        const onHost = await resolveInputs(HOST, written, 'edge-1', assignment);
        const to = (file: HostFile) => onHost.filter((input) => input.file === file.path);
        const json = finalBytes(JSON_FILE, Buffer.from(JSON.stringify(absent)), to(JSON_FILE));
        expect(JSON.parse(json.toString())).toEqual({ ...absent, ...office });
        const plain = to(ENV_FILE).filter(({ value }) => typeof value !== 'object');
        const lines = finalBytes(ENV_FILE, Buffer.from(KEYS.map((key) => `${key}=none\n`).join('')), plain);
        const assigned = Object.fromEntries(
          lines
            .toString()
            .trim()
            .split('\n')
            .map((line) => line.replaceAll('"', '').split('=')),
        ) as Values;
        const scalars = Object.fromEntries(
          Object.entries(office).filter(([, value]) => typeof value !== 'object'),
        );
        expect(assigned).toEqual({ ...absent, ...asText(scalars) });
      }
    }),
    { numRuns: runs(1000, 5) },
  );
});
