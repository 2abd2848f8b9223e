import { join } from 'node:path';
import { openMedium } from '#bundles/formats/medium/open-medium';
import type { SiteValues } from '#bundles/formats/statements/predicates';
import { parseChannel } from '#bundles/names';
import { formatError } from '#bundles/errors';
import type { Hub } from '../../../../../scheduler/hub/hub.ts';
import { enrollMedium } from '../../../../../scheduler/hub/sites/enroll/enroll-medium.ts';
import { readRequests } from '../../../../../scheduler/hub/sites/enroll/read-requests.ts';
import { type ComposeAgent, composeAgent } from '../../../../../scheduler/hub/sites/layers/compose-agent.ts';
import {
  composeSites,
  type ComposeOptions,
  writeComposed,
} from '../../../../../scheduler/hub/sites/layers/compose-sites.ts';
import { siteSigner } from '../../../../../scheduler/hub/sites/site-signer.ts';
import { openStore } from '../../../../../scheduler/hub/store/open-store.ts';
import { openKeyDirectory } from '../../../../../scheduler/keys/key-directory.ts';
import { ours } from '../../../fleet-platform.ts';
import { makeBuiltOffice, NOW, type Office } from '../../../release/removals/office.ts';
import { ask, testAgent } from '../../test-hub.ts';

/** The labels application of an office: a file with two site values. */
export const PACKAGE = ours(
  'HostPackage',
  'files',
  `spec:
  files: [{path: /etc/labels/line.env, format: env, content: "GATEWAY=none\\nPORT=0\\n"}]
  siteInputs:
    - {name: gatewayHost, schema: {type: string}, default: none, file: /etc/labels/line.env, pointer: /GATEWAY}
    - {name: port, schema: {type: integer, maximum: 65535}, default: 1, file: /etc/labels/line.env, pointer: /PORT}
`,
);

export const config = (name: string, spec: string): string => ours('Config', name, `spec:\n  ${spec}\n`);
export const site = (name: string, spec: string): string => ours('Site', name, `spec: ${spec}\n`);

export const LAYERS = 'platform/base/layers.yaml';
export const SITES = 'platform/base/sites.yaml';

export type LayeredHub = Hub &
  Office & {
    readonly enrol: (
      id: string,
      labels?: Readonly<Record<string, string>>,
      channel?: string,
    ) => Promise<void>;
    /** The same, with the values of its layers in its first statement, as the commands enrol. */
    readonly enrolComposed: LayeredHub['enrol'];
    /** Composes, and says it in words: sites that changed, those held with the reason, and advice. */
    readonly compose: (options?: Partial<ComposeOptions>) => Promise<{
      readonly changed: readonly string[];
      readonly held: readonly string[];
      readonly advice: readonly string[];
    }>;
    readonly valuesOf: (site: string) => Promise<SiteValues & { readonly version: number }>;
  };

const enrolAt =
  (hub: Hub, folder: string, compose: ComposeAgent | undefined): LayeredHub['enrol'] =>
  async (id, labels = {}, channel = 'prod/press') => {
    const { fleet } = hub.keys.root;
    const stick = join(folder, `stick-${id.replace('/', '-')}`);
    await ask(stick, testAgent(id), { fleet, channel: parseChannel(channel), labels });
    await using medium = await openMedium(stick);
    const requests = await readRequests(medium, fleet, []);
    const accept = requests.map(({ fingerprint }) => ({ fingerprint }));
    const terms = { accept, replaceKey: false, update: false, composeAgent: compose };
    await enrollMedium(hub, medium, terms, NOW);
  };

/** An office that was built with layers for sites, and its hub. @param prepare runs before the hub opens its keys */
export const layeredHub = async (
  files: Readonly<Record<string, string>>,
  prepare?: (folder: string) => Promise<void>,
): Promise<LayeredHub> => {
  const office = await makeBuiltOffice({ 'apps/labels/host/package.yaml': PACKAGE, ...files });
  await prepare?.(office.folder);
  const { folder, layout } = office;
  const keys = await openKeyDirectory(join(folder, 'keys'));
  const store = await openStore(join(folder, 'hub.db'), keys.root.fleet);
  const hub: Hub = { keys, store, layout, [Symbol.asyncDispose]: () => store[Symbol.asyncDispose]() };
  const plain = (error: Parameters<typeof formatError>[0]): string =>
    formatError(error).replaceAll(`${folder}/`, '');
  return {
    ...office,
    ...hub,
    enrol: enrolAt(hub, folder, undefined),
    enrolComposed: enrolAt(hub, folder, composeAgent(hub, NOW)),
    compose: async (options = {}) => {
      const { changed, held, advice } = await composeSites(hub, await siteSigner(hub), {
        now: NOW,
        ...options,
      });
      if (options.dryRun !== true) await writeComposed(hub, { now: NOW });
      return {
        changed: changed.map(({ site: name, version, changes }) =>
          [name, version, ...changes.map(({ about, new: now }) => `${about} ${JSON.stringify(now)}`)].join(
            ' ',
          ),
        ),
        held: held.flatMap(({ site: name, reasons }) => reasons.map((error) => `${name}: ${plain(error)}`)),
        advice: advice.map(plain),
      };
    },
    valuesOf: async (name) => {
      const row = await store.db
        .selectFrom('site')
        .selectAll()
        .where('name', '=', name)
        .executeTakeFirstOrThrow();
      return { ...(JSON.parse(row.site_values) as SiteValues), version: row.version };
    },
  };
};
