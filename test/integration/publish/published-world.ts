import { join } from 'node:path';
import { openLayout } from '#bundles/formats/layout/layout';
import { openMedium } from '#bundles/formats/medium/open-medium';
import type { Channel } from '#bundles/names';
import { addDays } from '#bundles/time';
import type { Selection } from '#bundles/transport/publish/choose-pointers';
import { publishLayout } from '#bundles/transport/publish/publish-layout';
import type { Plan } from '../../../exporter/plan/plan.ts';
import { prepare } from '../../../exporter/plan/prepare.ts';
import { verifyMedium } from '../../../exporter/verify/verify-medium.ts';
import { exportMedium } from '../../../exporter/write/export-medium.ts';
import { openDestination } from '../../../scheduler/deliver/send/open-destination.ts';
import type { Outcome } from '../../harness/run/run-command.ts';
import { runScheduler } from '../../harness/run/run-scheduler.ts';
import {
  type LayoutWriter,
  NOW,
  newFleet,
  newSigningKey,
  type SignedFleet,
  type TestBundle,
  writeSignedLayout,
} from '../../harness/fleets/signed-layout.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';

export const KIOSK: Channel = { environment: 'prod', clusterType: 'kiosk' };
export const HOST: Channel = { environment: 'prod', clusterType: 'factory-host' };

/** Images share their big layer with every other version; the small one tells them apart. */
export const bundleOf = (text: string, kind: TestBundle['kind'] = 'kubernetes'): TestBundle => ({
  kind,
  packages: { web: { [kind === 'host' ? 'package.json' : 'app.yaml']: `{"text": "${text}"}\n` } },
  images: [{ name: 'web', layers: [Buffer.alloc(200_000, 'base'), Buffer.alloc(900, text)] }],
});

/** One fleet with a layout in a folder of its own. */
export type PublishedWorld = AsyncDisposable & {
  readonly fleet: SignedFleet;
  readonly layout: LayoutWriter;
  readonly path: (...names: readonly string[]) => string;
  /** fleet-scheduler, with the layout. */
  readonly scheduler: (words: readonly string[], env?: NodeJS.ProcessEnv) => Promise<Outcome>;
  /** The same in this process: to a place, from one of the world's layouts; outcomes by pointer. */
  readonly publish: (to: string, from?: string, selection?: Selection) => Promise<Record<string, string>>;
  /** What an exporter finds at `from`: a verified medium with these channels, or sites, as a tar. */
  readonly export: (from: string, to: string, what: Wanted) => Promise<Plan>;
};

export type Wanted = { readonly channels?: readonly Channel[]; readonly sites?: readonly string[] };

/** Release 1 of a Kubernetes and of a host channel, and site plant-7 with an agent on each. */
export const makePublishedWorld = async (): Promise<PublishedWorld> => {
  const folder = await temporaryDirectory('published');
  const path = (...names: readonly string[]): string => join(folder.path, ...names);
  const fleet = await newFleet();
  const layout = writeSignedLayout(fleet, path('layout'));
  const issuedAt = addDays(NOW, -160);
  await layout.release({ channel: KIOSK, version: 1, bundles: [bundleOf('one')], issuedAt });
  await layout.release({ channel: HOST, version: 1, bundles: [bundleOf('one', 'host')] });
  await layout.site({
    site: 'plant-7',
    version: 1,
    agents: [
      { name: 'line-1', channel: KIOSK, key: newSigningKey() },
      { name: 'press-2', channel: HOST, key: newSigningKey() },
    ],
  });
  await layout.receipts('plant-7', [{ agent: 'plant-7/line-1', from: 1, to: 4 }]);
  return {
    fleet,
    layout,
    path,
    scheduler: (words, env = {}) =>
      runScheduler(folder.path, [...words, '--layout', path('layout')], {
        PATH: process.env['PATH'],
        HOME: folder.path,
        FLEET_NOW: NOW.toISOString(),
        ...env,
      }),
    publish: async (to, from = 'layout', selection = {}) => {
      await using destination = await openDestination(to, { plainHttp: [], env: {} }, NOW);
      const { signal } = new AbortController();
      const options = { selection, now: NOW, signal };
      const outcomes = await publishLayout(await openLayout(path(from)), destination, options);
      return Object.fromEntries(
        outcomes.map(({ repository, tag, outcome, error }) => [
          `${repository}:${tag}`,
          error?.code ?? outcome,
        ]),
      );
    },
    export: async (from, to, { channels, sites = [] }) => {
      const order = { from, to: path(to), channels, sites, bases: [], now: NOW };
      await using prepared = await prepare(order);
      await exportMedium(prepared, { readBack: true, onBytes: () => {} });
      await using medium = await openMedium(path(to));
      const { checks } = await verifyMedium(medium, undefined, NOW);
      const wrong = checks.find(({ ok }) => !ok);
      if (wrong) throw new Error(`${wrong.what}: ${wrong.message}`);
      return prepared.plan;
    },
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
};
