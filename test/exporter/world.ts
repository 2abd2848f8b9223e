import { join } from 'node:path';
import type { Digest } from '#bundles/digest';
import type { Channel } from '#bundles/names';
import type { SigningKey } from '#bundles/trust/keys/key';
import type { Plan } from '../../exporter/plan/plan.ts';
import { type ExportRequest, type Prepared, prepare } from '../../exporter/plan/prepare.ts';
import { type Exported, exportMedium } from '../../exporter/write/export-medium.ts';
import type { WriteOptions } from '../../exporter/write/write-options.ts';
import { type FolderTemplate, readTemplate, writeTemplate } from '../harness/fleets/folder-template.ts';
import { NOW, newFleet, newSigningKey, type SignedFleet } from '../harness/fleets/signed-fleet.ts';
import { type LayoutWriter, type TestBundle, writeSignedLayout } from '../harness/fleets/signed-layout.ts';
import { temporaryDirectory } from '../harness/run/temporary-directory.ts';

export const KIOSK: Channel = { environment: 'prod', clusterType: 'kiosk' };
export const GATE: Channel = { environment: 'prod', clusterType: 'gate' };

/** A fleet with one site and two channels, built into a layout, and folders for its media. */
export type World = AsyncDisposable & {
  readonly fleet: SignedFleet;
  readonly path: (...names: readonly string[]) => string;
  readonly layout: LayoutWriter;
  readonly agent: SigningKey;
  readonly export: (
    to: string,
    order?: Partial<ExportRequest>,
    options?: Partial<WriteOptions>,
  ) => Promise<Exported & { readonly plan: Plan }>;
  readonly plan: (order?: Partial<ExportRequest>) => Promise<Pick<Prepared, 'plan' | 'notes' | 'removals'>>;
};

/** `text` tells one version from the next; its image shares its big layer with every other version. */
export const bundleOf = (text: string, kind: TestBundle['kind'] = 'kubernetes'): TestBundle => ({
  kind,
  packages: { web: { 'app.yaml': `text: ${text}\n` } },
  images: [{ name: 'web', layers: [Buffer.alloc(50_000, 'base'), Buffer.alloc(700, text)] }],
});

export const makeWorld = async (given?: SignedFleet, agent = newSigningKey()): Promise<World> => {
  const folder = await temporaryDirectory('exporter');
  const path: World['path'] = (...names) => join(folder.path, ...names);
  const fleet = given ?? (await newFleet());
  const layout = writeSignedLayout(fleet, path('layout'));
  const exportRequestOf = (more: Partial<ExportRequest>): ExportRequest => ({
    from: path('layout'),
    to: path('medium'),
    channels: undefined,
    sites: [],
    bases: [],
    now: NOW,
    ...more,
  });
  return {
    fleet,
    path,
    layout,
    agent,
    export: async (to, order = {}, options = {}) => {
      await using prepared = await prepare(exportRequestOf({ to: path(to), ...order }));
      const exported = await exportMedium(prepared, { readBack: true, onBytes: () => {}, ...options });
      return { ...exported, plan: prepared.plan };
    },
    plan: async (order = {}) => {
      await using prepared = await prepare(exportRequestOf(order));
      return { plan: prepared.plan, notes: prepared.notes, removals: prepared.removals };
    },
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
};

type Kiosk = Pick<World, 'fleet' | 'agent'> & {
  readonly first: Digest;
  readonly files: FolderTemplate;
};

const makeKiosk = async (given?: SignedFleet): Promise<Kiosk> => {
  await using world = await makeWorld(given);
  const { fleet, agent, layout, path } = world;
  await layout.site({
    site: 'plant-7',
    version: 1,
    agents: [{ name: 'line-1', channel: KIOSK, key: agent }],
  });
  const [first] = await layout.release({ channel: KIOSK, version: 1, bundles: [bundleOf('one')] });
  return { fleet, agent, first: first as Digest, files: await readTemplate(path('layout')) };
};

/** Signing and synced writes take longer than most tests: made once, then copied. */
let kiosk: Promise<Kiosk> | undefined;

/**
 * Site plant-7 with agent line-1 on prod/kiosk, and release 1 of that channel. All have the same keys, but for those of a fleet that is
 * given: a stranger.
 */
export const makeKioskWorld = async (given?: SignedFleet): Promise<World & { readonly first: Digest }> => {
  const { fleet, agent, first, files } = await (given ? makeKiosk(given) : (kiosk ??= makeKiosk()));
  const world = await makeWorld(fleet, agent);
  writeTemplate(files, world.path('layout'));
  return { ...world, first };
};
